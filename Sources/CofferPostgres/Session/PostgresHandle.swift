internal import CCofferLibraries
internal import CofferPlatform

/// A connection of libpq, freed with this value. A forked child leaves it alone: its parent uses the same socket.
struct PostgresHandle: ~Copyable {
  let library: coffer_libpq
  let pointer: OpaquePointer
  /// Counts the server's warnings that its standby may lack a commit.
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

  /// The names of `place`, without a server. libpq assembles a place's parameters before it checks them, and stops at an
  /// unknown one.
  static func names(_ place: PostgresPlace) throws(StoreError) -> PlaceNames {
    let handle = try unconnected(place)
    return PlaceNames(PlaceParameters(handle.parameters), host: handle.host, name: place.name)
  }

  /// The parameters of `place` as libpq completes them, without a server.
  static func parameters(of place: PostgresPlace) throws(StoreError) -> PlaceParameters {
    PlaceParameters(try unconnected(place).parameters)
  }

  private static func unconnected(_ place: PostgresPlace) throws(StoreError) -> PostgresHandle {
    try begin(place.connection, VaultPlace(place.url), [], overriding: [("target_session_attrs", "none")])
  }

  /// The parameters after service files, the environment and libpq's defaults.
  var parameters: [String: String] {
    let options = library.options(pointer)
    defer { library.free_options(options) }
    var found: [String: String] = [:]
    var next = options
    while let option = next, let keyword = option.pointee.keyword {
      // Passwords are omitted.
      let isSecret = option.pointee.dispchar.map { $0.pointee == UInt8(ascii: "*") } ?? false
      if !isSecret, let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
      next = option + 1
    }
    return found
  }

  /// The reached host, or the folder of its socket.
  var host: String { library.host(pointer).map { String(cString: $0) } ?? "" }
}
