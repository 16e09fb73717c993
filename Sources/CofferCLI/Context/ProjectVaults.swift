internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

/// A project's `coffer.vaults`: the vaults that reading commands look through below its folder, one name a line.
///
/// Others write it. So it names only vaults that this user has named, never a place, and counts only after the user has agreed
/// to its names in their order.
struct ProjectVaults {
  static let fileName = "coffer.vaults"
  /// A missing item asks each vault, perhaps on a server, and each may need a passphrase.
  static let most = 16
  /// Names and comments; a longer file is something else.
  private static let largest = 16 << 10
  private static let setting = "project."

  let file: FilePath
  let names: [String]

  /// The file in the working folder or the nearest folder above it; nil without one, or if the user names a vault.
  ///
  /// - Parameter agrees: whether --yes agrees to the file.
  init?(_ context: Context, agreeing agrees: Bool = false) throws {
    guard context.variables["COFFER_VAULT"] == nil, let path = try Self.nearest() else { return nil }
    file = FilePath(path)
    // A pipe would wait for its writer.
    guard try FileStatus(at: file)?.isRegular == true else {
      throw Failure.usage("\(Printable.line(path)) is not a regular file", try: Self.another)
    }
    names = try Self.names(in: PlainFile.read(path, limit: Self.largest), file)
    if context.unlocking?.isForOneVault == true {
      throw Failure.usage(
        "\(Printable.line(path)) names several vaults, and an option of the command is for one vault", try: Self.another)
    }
    let named = VaultNames(context: context)
    for name in names where try named.path(of: name) == nil {
      throw StoreError(
        .noVault, "this project reads a vault that has no name on this machine", key: name, place: path,
        cure: "coffer vault use NAME PLACE; --vault NAME reads one vault without the file")
    }
    try checkAgreed(context, agrees)
  }

  private static let another = "--vault NAME, which reads one vault without the file"

  /// A file that may be there and cannot be looked at is an error: another vault must not answer for those that it names.
  private static func nearest() throws -> String? {
    // A working folder that was removed is in no project. FilePath would add an eighth to the work of a whole `get`.
    guard let current = getcwd(nil, 0) else { return nil }
    defer { free(current) }
    var end = strlen(current), found = stat()
    while true {
      current[end] = 0
      guard let folder = String(validatingCString: current) else {
        throw Failure.usage("the path of the working folder is not UTF-8", try: another)
      }
      let file = folder + (end == 1 ? "" : "/") + fileName
      if lstat(file, &found) == 0 { return file }
      guard errno == ENOENT else { throw StoreError(errno: errno, "look for \(fileName)", place: FilePath(file)) }
      guard end > 1 else { return nil }
      repeat { end -= 1 } while end > 1 && current[end] != 0x2F
    }
  }

  private static func names(in content: Data, _ file: FilePath) throws -> [String] {
    var names: [String] = []
    for (index, line) in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let words = line.split { [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")].contains($0) }
      guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
      func wrong(_ what: String) -> Failure {
        .usage(
          "line \(index + 1): \(what) (\(Printable.line(file.string)))",
          try: "one name of 'coffer vault use' a line; a line that begins with # is a comment")
      }
      guard words.count == 1, let name = String(validating: first, as: UTF8.self), VaultNames.isName(name) else {
        throw wrong("this is not the name of a vault")
      }
      guard !names.contains(name) else { throw wrong("the vault '\(name)' is already named") }
      guard names.count < most else { throw wrong("a project names at most \(most) vaults") }
      names.append(name)
    }
    guard !names.isEmpty else {
      throw Failure.usage(
        "\(Printable.line(file.string)) names no vault", try: "a name of 'coffer vault use', or remove the file")
    }
    return names
  }

  private func checkAgreed(_ context: Context, _ agrees: Bool) throws {
    let (setting, value) = (Self.setting + file.string, PlainForm.string(names.joined(separator: " ")))
    do throws(StoreError) { try StoredName.check(setting) } catch {
      throw Failure.usage("the path of \(Printable.line(file.string)) is too long, or has a control character", try: Self.another)
    }
    guard try context.domain(Settings.domain).load(setting) != value else { return }
    let list = names.joined(separator: ", ")
    let question = "In this folder coffer would read \(list) before your own vault (\(Printable.line(file.string))). Agree?"
    let terminal = context.questions == .anywhere ? Terminal() : nil
    guard try agrees && context.yes || terminal?.confirm(question) ?? false else {
      throw StoreError(
        .refused, "you have not agreed to the vaults that this project reads: \(list)", place: file.string,
        cure: "coffer vault members --yes, if you trust the file; --vault NAME reads one vault without the file")
    }
    try Settings.save(value, as: setting, context)
  }

  /// Those of its vaults, in order.
  func contexts(_ context: Context) throws -> [Context] { try names.map(context.at) }
}
