internal import CCofferLibraries
internal import CofferPlatform
internal import CofferVault

/// One connection of libpq's, freed with this value. A child that was forked leaves it alone: its parent speaks on the same
/// socket.
struct PostgresHandle: ~Copyable {
  let library: coffer_libpq
  let pointer: OpaquePointer
  /// How often the server has warned that its standby may lack a commit.
  let warnings: UnsafeMutablePointer<Int32>
  private let process = getpid()

  init(_ library: coffer_libpq, _ pointer: OpaquePointer) {
    self.library = library
    self.pointer = pointer
    warnings = .allocate(capacity: 1)
    warnings.initialize(to: 0)
    coffer_libpq_count_warnings(pointer, warnings)
  }

  deinit {
    guard getpid() == process else { return }
    library.finish(pointer)
    warnings.deallocate()
  }

  /// Has libpq begin to connect.
  static func begin(
    _ connection: String, _ place: VaultPlace, _ options: [(String, String)], overriding: [(String, String)] = []
  ) throws(StoreError) -> PostgresHandle {
    let library = try PostgresLibrary.load()
    let all = options + [("dbname", connection)] + overriding
    let keywords = all.map { strdup($0.0) } + [nil]
    let values = all.map { strdup($0.1) } + [nil]
    defer { for text in keywords + values { free(text) } }
    // Later keywords override earlier ones, and the URL counts at its position.
    let pointer = keywords.map { UnsafePointer($0) }.withUnsafeBufferPointer { keywords in
      values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
        keywords.baseAddress.flatMap { keywords in values.baseAddress.flatMap { library.connect(keywords, $0, 1) } }
      }
    }
    guard let pointer else {
      throw StoreError(.memory, "could not connect", place: place.description, cure: "free some memory and try again")
    }
    return PostgresHandle(library, pointer)
  }

  /// What `place` is known by, without a server. libpq puts the parameters of a place together before it looks at them, and one
  /// that it does not know keeps it from going on.
  static func names(_ place: PostgresPlace) throws(StoreError) -> PlaceNames {
    let handle = try unconnected(place)
    return PlaceNames(PlaceParameters(handle.parameters), host: handle.host, name: place.name)
  }

  /// The parameters of `place`, after service files, the environment and libpq's own defaults, without a server.
  static func parameters(of place: PostgresPlace) throws(StoreError) -> PlaceParameters {
    PlaceParameters(try unconnected(place).parameters)
  }

  private static func unconnected(_ place: PostgresPlace) throws(StoreError) -> PostgresHandle {
    try begin(place.connection, VaultPlace(place.url), [], overriding: [("target_session_attrs", "none")])
  }

  /// The parameters that the connection has, after service files, the environment and libpq's own defaults.
  var parameters: [String: String] {
    let options = library.options(pointer)
    defer { library.free_options(options) }
    var found: [String: String] = [:]
    var next = options
    while let option = next, let keyword = option.pointee.keyword {
      // A password is nobody's business here.
      let isSecret = option.pointee.dispchar.map { $0.pointee == UInt8(ascii: "*") } ?? false
      if !isSecret, let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
      next = option + 1
    }
    return found
  }

  /// The host that was reached, or the folder of its socket.
  var host: String { library.host(pointer).map { String(cString: $0) } ?? "" }
}
