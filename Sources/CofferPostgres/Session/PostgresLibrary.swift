internal import CCofferLibraries
internal import CofferPlatform

/// libpq, loaded for the first place on a server.
enum PostgresLibrary {
  private enum Loaded {
    case table(coffer_libpq)
    case obstacle(String)
  }

  private static let loaded: Loaded = {
    var reason: UnsafePointer<CChar>?
    if let table = coffer_libpq_load(&reason) { return .table(table.pointee) }
    return .obstacle(reason.map { String(cString: $0) } ?? "")
  }()

  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` if libpq is not installed, or older than 14.
  static func load() throws(StoreError) -> coffer_libpq {
    switch loaded {
    case .table(let table): return table
    case .obstacle(let reason):
      throw StoreError(
        .unsupported, "libpq 14 or newer, which connects to PostgreSQL, is not installed (\(reason))", place: "libpq.so.5",
        cure: "install libpq5 (on Fedora libpq)")
    }
  }
}
