package import CofferPlatform
package import SystemPackage

/// A database and its side files, moved aside so that another gets its name.
package struct DisplacedFiles {
  private let place: FilePath
  private let aside: FilePath
  /// The suffixes of the moved files, the database's own first.
  private var moved: [String] = []

  package init(of place: FilePath, to aside: FilePath) {
    self.place = place
    self.aside = aside
  }

  /// After an error, ``putBack(after:)`` restores the moved ones.
  package mutating func move() throws(StoreError) {
    for suffix in [""] + SideFiles.suffixes {
      let side = place.appending(suffix: suffix)
      guard try Stat.ofLink(side) != nil else { continue }
      try Self.rename(side, to: aside.appending(suffix: suffix))
      moved.append(suffix)
    }
  }

  /// Restores the names after `error`, or adds the place of the moved files to it. Restores nothing if another program has
  /// taken the name: SQLite would replay a log into a foreign database.
  package func putBack(after error: StoreError) -> StoreError {
    guard let first = moved.first else { return error }
    var left = first
    do throws(StoreError) {
      guard try Stat.ofLink(place) == nil else {
        return told(
          error, left, "another program created a file there meanwhile; the earlier one is beside it",
          "keep that one, or move it away and restore again")
      }
      // The database last, after its side files.
      for suffix in moved.reversed() {
        left = suffix
        try Self.rename(aside.appending(suffix: suffix), to: place.appending(suffix: suffix))
      }
      return error
    } catch {
      return told(error, left, "the earlier file is beside it", "give that the name \(place)\(left) again, or restore again")
    }
  }

  private func told(_ error: StoreError, _ suffix: String, _ event: String, _ cure: String) -> StoreError {
    StoreError(
      error.kind, "\(error.what); \(event), as \(aside)\(suffix)", place: error.place, cure: cure, underlying: error.underlying)
  }

  package static func rename(_ file: FilePath, to name: FilePath) throws(StoreError) {
    let code = NewName.give(file, name)
    guard code == 0 else { throw StoreError(errno: code, "rename \(file)", place: name) }
  }
}
