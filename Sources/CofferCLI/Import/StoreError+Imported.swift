internal import Coffer

extension StoreError {
  /// The same error about the name of an entry to be imported: which one it is, and where it stands.
  func ofImported(_ entry: String, place: String, line: Int? = nil) -> StoreError {
    StoreError(
      kind, (line.map { "line \($0): " } ?? "") + what, key: entry, place: place, cure: "\(commandCure); nothing was imported",
      underlying: underlying)
  }
}
