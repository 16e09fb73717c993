package import CofferPlatform
package import CofferVaultFormat

/// Moves the files of a remote, which never change. It knows nothing of their content: a reader checks their hashes.
///
/// Of one remote and its cache, one carrier is used at a time. Each call throws ``StoreError`` `.unreachable` if the remote
/// cannot be reached now, `.loginRefused`, `.notFound`, `.denied`, `.noSpace`, `.damaged` or `.refused`; the text has the last
/// line that another program printed.
package protocol Carrier: Sendable {
  /// The heads at the remote.
  func heads() throws(StoreError) -> PieceListing

  /// All pieces at the remote, after ``heads()``.
  func names() throws(StoreError) -> PieceListing

  /// Brings the files that are there into `folder`, after ``heads()``, as they are, none larger than its name's limit.
  func get(_ names: [PieceName], into folder: PieceFolder) throws(StoreError)

  /// Puts the files of `folder`: groups first, then the head. All of them are durable on return, as far as the remote tells.
  ///
  /// A death in the middle leaves groups without a head, which harm nothing.
  ///
  /// - Parameters:
  ///   - groups: at least those that none of `heads` has.
  ///   - heads: those that ``heads()`` returned, in place of which this one stands.
  ///   - anew: leaves no way back to earlier heads where a remote keeps its history.
  /// - Returns: whether it was put. False if another machine was faster, which only some remotes tell.
  func put(
    _ groups: [PieceName], _ head: HeadName, from folder: PieceFolder, over heads: [HeadName], anew: Bool
  ) throws(StoreError) -> Bool

  /// Removes files. Those that are not there are no fault.
  func remove(_ names: [PieceName]) throws(StoreError)
}

/// Names at a remote.
package struct PieceListing: Sendable, Equatable {
  package var names: [PieceName] = []
  /// The count of names that are no piece's, such as another program's copy of a file in conflict. Hidden files are left out.
  package var strangers = 0
  /// Heads that are not whole, and not in ``names``.
  package var broken: [PieceName] = []

  package init() {}

  package var heads: [HeadName] { names.compactMap { if case .head(let name) = $0 { name } else { nil } } }

  /// Most names: 1 024 heads, and the groups of 64 of the largest. A writer there chooses their count.
  static let limit = 1 << 16

  /// Adds the file `text`, a path below the remote's folder.
  mutating func add(_ text: some StringProtocol, at place: String) throws(StoreError) {
    guard names.count + strangers < Self.limit else {
      throw StoreError(
        .damaged, "more than \(Self.limit) files lie there", place: place,
        cure: "remove those that do not belong to this vault, or use another place")
    }
    if let name = PieceName(text) { names.append(name) } else if !text.hasPrefix(".") && !text.contains("/.") { strangers += 1 }
  }
}

/// The groups that the bytes of a head name, each with its number in the vault.
package typealias GroupNumbers = @Sendable (_ head: [UInt8]) throws(StoreError) -> [(number: Int, group: Digest32)]
