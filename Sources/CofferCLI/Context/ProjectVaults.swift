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
  init?(_ context: Context) throws {
    guard context.variables["COFFER_VAULT"] == nil, let file = Self.nearest() else { return nil }
    self.file = file
    // A pipe would wait for its writer.
    guard try FileStatus(at: file)?.isRegular == true else {
      throw Failure.usage("\(Printable.line(file.string)) is not a regular file", try: "a file with names of 'coffer vault use'")
    }
    names = try Self.names(in: PlainFile.read(file.string, limit: Self.largest), file)
    if context.unlocking?.isForOneVault == true {
      throw Failure.usage(
        "an option unlocks or expects one vault, and \(Printable.line(file.string)) names others",
        try: "the same with --vault NAME")
    }
    let named = VaultNames(context: context)
    for name in names where try named.path(of: name) == nil {
      throw StoreError(
        .noVault, "this project reads a vault that you have not named", key: name, place: file.string,
        cure: "coffer vault use \(name) PLACE; --vault NAME reads one vault without the file")
    }
    try checkAgreed(context)
  }

  private static func nearest() -> FilePath? {
    // A working folder that was removed is in no project. Without FilePath, which takes as long as all else in a `get`.
    guard let current = getcwd(nil, 0) else { return nil }
    defer { free(current) }
    var end = strlen(current)
    while true {
      current[end] = 0
      let file = String(cString: current) + (end == 1 ? "" : "/") + fileName
      if access(file, F_OK) == 0 { return FilePath(file) }
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

  private func checkAgreed(_ context: Context) throws {
    let (setting, value) = (Self.setting + file.string, PlainForm.string(names.joined(separator: " ")))
    guard try context.domain(Settings.domain).load(setting) != value else { return }
    let file = Printable.line(file.string), list = names.joined(separator: ", ")
    let question = "\(file) has the commands here read \(list) before your own vault. Agree?"
    let terminal = context.questions == .anywhere ? Terminal() : nil
    guard try context.yes || terminal?.confirm(question) ?? false else {
      throw StoreError(
        .refused, "you have not agreed to the vaults that this project reads: \(list)", place: self.file.string,
        cure: "coffer vault members --yes, if you trust the file; --vault NAME reads one vault without it")
    }
    try Settings.save(value, as: setting, context)
  }

  /// Those of its vaults, in order.
  func contexts(_ context: Context) throws -> [Context] { try names.map(context.at) }
}
