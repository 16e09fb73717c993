package import CofferPlatform
internal import CofferVaultFormat
package import SystemPackage

/// One branch of a git repository, each commit of which is one head with its groups.
///
/// Its tree has `head` and `o/NNNN`, each group under its number, so that packs hold differences. The head's name is the
/// commit's message.
package struct GitCarrier: Carrier {
  private let groups: GroupNumbers
  private let cache: GitCache

  /// - Parameters:
  ///   - address: in git's words, as ``RemoteName`` checks it.
  ///   - isPath: whether it is the path of a repository on this machine.
  ///   - folder: a private folder for the cache.
  ///   - groups: reads a head.
  ///   - settings: variables for commands that reach the remote, `NAME=value`.
  package init(
    _ address: String, isPath: Bool, folder: FilePath, groups: @escaping GroupNumbers, settings: [String] = []
  ) throws(StoreError) {
    self.groups = groups
    cache = try GitCache(address, isPath: isPath, folder: folder, settings: settings)
  }

  // MARK: Reading

  package func heads() throws(StoreError) -> PieceListing {
    try cache.prepare()
    guard let there = try cache.branchThere() else {
      try cache.git(["update-ref", "-d", GitCache.kept])
      return PieceListing()
    }
    if let tip = try cache.tip(), tip.commit == there { return listing(of: tip) }
    try cache.fetch()
    return listing(of: try cache.tip())
  }

  package func names() throws(StoreError) -> PieceListing {
    var listing = listing(of: try cache.tip())
    for head in listing.heads { listing.names += Set(try numbers(of: head).values).map { .group($0) } }
    return listing
  }

  private func listing(of tip: GitCache.Tip?) -> PieceListing {
    var listing = PieceListing()
    if let head = tip?.head { listing.names = [.head(head)] } else if tip != nil { listing.strangers = 1 }
    return listing
  }

  package func get(_ names: [PieceName], into pieces: PieceFolder) throws(StoreError) {
    guard let head = try cache.tip()?.head else { return }
    let isHeadAlone = names.allSatisfy { $0 == .head(head) }
    var places: [PieceName: String] = [.head(head): "head"]
    if !isHeadAlone { for (number, group) in try numbers(of: head) { places[.group(group)] = "o/\(Self.name(number))" } }
    try cache.take(names.compactMap { name in places[name].map { (name, $0) } }, into: pieces)
  }

  /// The groups of the tip by their numbers, as its head names them; none if the head is not there.
  private func numbers(of head: HeadName) throws(StoreError) -> [Int: Digest32] {
    let pieces = try PieceFolder(cache.folder.appending("pieces"))
    defer { _ = SystemCalls().unlink(pieces.path(of: .head(head)).string) }
    try cache.take([(.head(head), "head")], into: pieces)
    guard let bytes = try pieces.read(.head(head)) else { return [:] }
    return Dictionary(try groups(bytes).map { ($0.number, $0.group) }) { first, _ in first }
  }

  /// Four digits.
  private static func name(_ number: Int) -> String { String("\(10_000 + number)".suffix(4)) }

  // MARK: Writing

  package func put(
    _ given: [PieceName], _ head: HeadName, from pieces: PieceFolder, over heads: [HeadName], anew: Bool
  ) throws(StoreError) -> Bool {
    try cache.prepare()
    let tip = try cache.tip()
    guard tip?.head.map({ heads.contains($0) }) ?? heads.isEmpty else { return false }
    guard tip == nil || tip?.head != nil else {
      throw StoreError(
        .refused, "the branch coffer there has other content", place: cache.address,
        cure: "use a repository of its own for the vault")
    }
    let commit = try commit(given, head, pieces, over: tip, anew: anew)
    return try cache.push(commit, over: tip, anew: anew)
  }

  private func commit(
    _ given: [PieceName], _ head: HeadName, _ pieces: PieceFolder, over tip: GitCache.Tip?, anew: Bool
  ) throws(StoreError) -> String {
    let names = given + [.head(head)]
    for name in names where try !pieces.has(name) { throw .incomplete(name, pieces) }
    let paths = try cache.input(names.map { pieces.path(of: $0).string })
    let written = try cache.git(["hash-object", "-w", "--no-filters", "--stdin-paths"], input: paths)
    guard let bytes = try pieces.read(.head(head)), written.count == names.count else { throw .incomplete(.head(head), pieces) }
    let blobs = try blobs(of: tip).merging(zip(names, written)) { $1 }
    var tree: [String] = []
    for (number, group) in try groups(bytes) {
      guard let blob = blobs[.group(group)] else { throw .incomplete(.group(group), pieces) }
      tree.append("100644 blob \(blob)\t\(Self.name(number))")
    }
    let below = try cache.one(["mktree"], input: cache.input(tree))
    let root = try cache.one(
      ["mktree"], input: cache.input(["100644 blob \(written[given.count])\thead", "040000 tree \(below)\to"]))
    return try cache.one(["commit-tree", root, "-m", "\(head)"] + (tip.map { anew ? [] : ["-p", $0.commit] } ?? []))
  }

  /// The blobs of the tip's groups. The remote's files are named by its head, and readers check them as anywhere.
  private func blobs(of tip: GitCache.Tip?) throws(StoreError) -> [PieceName: String] {
    guard let head = tip?.head, case let numbers = try numbers(of: head), !numbers.isEmpty else { return [:] }
    var blobs: [PieceName: String] = [:]
    for line in try cache.git(["ls-tree", GitCache.kept, "o/"]) {
      // `100644 blob ID`, a tab and `o/NNNN`.
      let parts = line.split(whereSeparator: \.isWhitespace)
      guard parts.count == 4, parts[1] == "blob", let number = Int(parts[3].dropFirst(2)) else { continue }
      if let group = numbers[number] { blobs[.group(group)] = String(parts[2]) }
    }
    return blobs
  }

  /// Nothing: a head goes with its commit, and a group with the last head that names it.
  package func remove(_ names: [PieceName]) throws(StoreError) {}
}
