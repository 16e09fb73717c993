internal import Coffer
internal import CofferPlatform

/// Has git ask `git-credential-coffer` instead of a file in the clear.
struct GitHelperSetting {
  private let context: Context
  init(_ context: Context) { self.context = context }

  private static let name = "credential.helper"
  /// Bytes that git may print: a few names.
  private static let most = 65_536

  /// Puts `coffer` in the place of `store`, or beside what else there is. Does nothing where it stands already.
  func set() throws {
    let present = try git(["--get-all", Self.name])
    let helpers = present.output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
    guard !helpers.contains("coffer") else { return }
    let isStore = helpers.contains { $0 == "store" || $0.hasPrefix("store ") }
    let words = isStore ? ["--replace-all", Self.name, "coffer", "^store( |$)"] : ["--add", Self.name, "coffer"]
    guard try git(words).status == 0 else {
      throw StoreError(
        .io(EIO), "git did not take the setting", place: Self.name,
        cure: "git config --global \(Self.name) coffer, then coffer doctor --fix again; nothing was removed from a file")
    }
    context.note("git asks coffer from now on: git config --global \(Self.name)")
  }

  private func git(_ words: [String]) throws -> BoundedCommand {
    try BoundedCommand.run(["git", "config", "--global"] + words, input: SecretBytes(zeros: 0), limit: Self.most)
  }
}

/// Has docker ask `docker-credential-coffer`.
enum DockerHelperSetting {
  /// What to write into the configuration `text`; nothing where it names a helper for all servers already.
  ///
  /// - Throws: `.unsupported` where it names another.
  static func cuts(_ text: borrowing SecretBytes, _ place: String) throws -> [ImportedEntry.Cut] {
    try text.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var helper: String?
      _ = scanner.peek()
      let start = scanner.offset + 1
      try scanner.object { scanner, name in
        if name == "credsStore" { helper = try scanner.textOrNothing() } else { try scanner.skip() }
      }
      guard let helper, !helper.isEmpty else {
        return [ImportedEntry.Cut(range: start..<start, stub: "\n\t\"credsStore\": \"coffer\",")]
      }
      guard helper == "coffer" else {
        throw StoreError(
          .unsupported, "docker has another helper, \(Printable.line(helper))", place: place,
          cure: "remove \"credsStore\" if coffer is to take its place; nothing was removed from the file")
      }
      return []
    }
  }
}
