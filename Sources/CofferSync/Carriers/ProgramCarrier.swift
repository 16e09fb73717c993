package import CofferPlatform
internal import CofferVaultFormat
package import SystemPackage

/// rclone, or a program of the user's, which carries files under their names.
///
/// A program of the user's gets `list`, which prints all names, `get LIST DIR`, `put LIST DIR` or `delete LIST`, as
/// `SeveralMachines.md` says. Names that are not there are no fault.
package struct ProgramCarrier: Carrier {
  /// Nil for a program of the user's.
  private let remote: String?
  private let program: CarrierProgram

  /// - Parameters:
  ///   - remote: in rclone's words, `REMOTE:PATH`.
  ///   - folder: a private folder, for the lists of names.
  ///   - settings: variables, `NAME=value`.
  package init(rclone remote: String, folder: FilePath, settings: [String] = []) throws(StoreError) {
    let folder = try TrustedPath.makePrivateFolder(folder)
    // Where rclone's configuration and credentials are.
    program = CarrierProgram(path: "rclone", folder: folder, settings: settings, inherited: ["RCLONE_", "AWS_"])
    self.remote = remote
  }

  /// - Parameters:
  ///   - path: a path, or a name on PATH.
  ///   - folder: a private folder, for the lists of names.
  package init(command path: String, folder: FilePath, patience: Duration = .seconds(1_800)) throws(StoreError) {
    program = try CarrierProgram(path: path, folder: TrustedPath.makePrivateFolder(folder), patience: patience)
    remote = nil
  }

  package func heads() throws(StoreError) -> PieceListing { try list(["--include=/h/*"]) { $0.hasPrefix("h/") } }
  package func names() throws(StoreError) -> PieceListing { try list([]) { _ in true } }

  /// - Parameter filter: rclone's, for names that pass `isWanted` too.
  private func list(_ filter: [String], _ isWanted: (Substring) -> Bool) throws(StoreError) -> PieceListing {
    let words = remote.map { ["lsf", "-R", "--max-depth=2", "--files-only"] + filter + Self.always + ["--", $0] } ?? ["list"]
    // A name has 67 bytes, and 20 more of a generation.
    let answer = try program.run(words, limit: 96 * PieceListing.limit)
    var listing = PieceListing()
    // rclone's word for a folder that is not there: it has no files.
    if remote != nil, answer.status == 3 { return listing }
    try check(answer, "list the files")
    for line in answer.lines where isWanted(line) { try listing.add(line, at: remote ?? program.path) }
    return listing
  }

  package func get(_ names: [PieceName], into folder: PieceFolder) throws(StoreError) { try run("get", names, folder) }

  package func put(
    _ groups: [PieceName], _ head: HeadName, from folder: PieceFolder, over heads: [HeadName], anew: Bool
  ) throws(StoreError) -> Bool {
    for names in [groups, [.head(head)]] {
      for name in names where try !folder.has(name) { throw .incomplete(name, folder) }
      try run("put", names, folder)
    }
    return true
  }

  /// Heads first: a head without its groups would look damaged.
  package func remove(_ names: [PieceName]) throws(StoreError) {
    let heads = names.filter { if case .head = $0 { true } else { false } }
    for names in [heads, names.filter { !heads.contains($0) }] { try run("delete", names, nil) }
  }

  private func run(_ verb: String, _ names: [PieceName], _ pieces: PieceFolder?) throws(StoreError) {
    guard !names.isEmpty else { return }
    let list = program.folder.appending("list")
    try PieceFolder.write(Array(names.map { "\($0)\n" }.joined().utf8), to: list)
    try check(try program.run(words(verb, list.string, pieces?.path.string)), "\(verb) files")
  }

  private func words(_ verb: String, _ list: String, _ folder: String?) -> [String] {
    guard let remote else { return [verb, list] + (folder.map { [$0] } ?? []) }
    let always = ["--files-from-raw", list] + Self.always
    guard let folder else { return ["delete"] + always + ["--", remote] }
    // Equal sizes are equal files: hashes are names. A file of another size is the rest of an upload, and is replaced.
    return ["copy", "--size-only", "--no-traverse"] + always + ["--"] + (verb == "get" ? [remote, folder] : [folder, remote])
  }

  /// Messages without times, no question, and an end of waiting for a network that is gone.
  private static let always = [
    "--log-format=", "--ask-password=false", "--stats=0", "--contimeout=15s", "--timeout=60s", "--retries=2",
    "--low-level-retries=3",
  ]

  private func check(_ answer: CarrierProgram.Answer, _ doing: String) throws(StoreError) {
    guard answer.status != 0 else { return }
    // Nobody knows what its words mean.
    guard let remote else { throw answer.failure(doing, place: program.path, as: .unreachable) }
    // rclone's word for an error that may pass.
    throw answer.failure(doing, place: remote, otherwise: answer.status == 5 ? .unreachable : .refused)
  }
}
