import Coffer
import CofferSecretService
import CofferStorage
import CofferVault
import Foundation

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

/// The command line's input from files, pipes, editors and other programs.
enum CommandLineParsers {
  static let all =
    [git, docker, template, reference, env, classic, oneTime, description, mask] + ImportParsers.all + LoginParsers.all + [
      BusParsers.path
    ]

  static func secret(_ bytes: [UInt8]) throws -> SecretBytes { try bytes.lent { try SecretBytes(copying: $0) } }
  private static func text(_ bytes: [UInt8]) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure.usage("it is no text", try: "UTF-8") }
    return text
  }

  static let git = Parser(
    "git-message",
    words: ["protocol=", "host=", "path=", "username=", "password=", "wwwauth[]=", "capability[]=", "oauth_refresh_token="]
  ) { input in
    let message = try GitMessage(secret(input))
    let values = Array(message.texts.values) + message.lists.values.flatMap { $0 }
    try promise(
      values.allSatisfy { !$0.utf8.contains(0) && !$0.utf8.contains(0x0A) && !$0.utf8.contains(0x0D) }, "a value ends a line")
    try promise(message.texts["password"] == nil, "a password is no secret")
  }

  /// docker's message to a helper: the first byte selects store or get.
  static let docker = Parser("docker-message", words: ImportParsers.json + ["\"ServerURL\"", "\"Username\"", "\"Secret\""]) {
    input in
    let (first, content) = input.choice
    if first & 1 == 0 {
      _ = try DockerHelper.credential(in: secret(content))
    } else {
      let server = try DockerHelper.server(in: secret(content))
      try promise(!server.isEmpty && !server.contains(where: \.isNewline), "a server is no line")
    }
  }

  static let template = Parser("template", words: ["{{ coffer://", " }}", "{{", "}}", "coffer://a/b/c", "%2F"]) { input in
    let template = try Template(secret(input), place: "template")
    for reference in template.references { try keeps(reference) }
  }

  static let reference = Parser("reference", longest: 256, words: ["coffer://", "%2F", "%C3%A4", "/"]) { input in
    try keeps(Reference(text(input)))
  }

  private static func keeps(_ reference: Reference) throws {
    try promise(try Reference(reference.description) == reference, "a reference that was written again is another one")
  }

  static let env = Parser("env-file", longest: 512, words: ["export ", "A=", "'", "\"", "\\n", "\\\"", " #", "\u{FEFF}"]) {
    input in
    for entry in try EnvFile.read(secret(input), place: "file") {
      try promise(!entry.name.isEmpty && !entry.name.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "=") }, "a name is none")
      try promise(entry.value.bytes.withUnsafeBytes { !$0.contains(0) }, "a value has a zero byte")
    }
  }

  /// The old property-list notation and the typed words of `coffer defaults write`, separated by zeros.
  static let classic = Parser(
    "classic-list", longest: 512,
    words: ["{", "}", "(", ")", "<", ">", "=", ";", ",", "\"", "\\U00e9", "-array", "-dict", "-int", "-date", "-data"]
  ) { input in
    let words = try text(input).split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    if let first = words.first, let form = ClassicListReader.parse(first) {
      let written = ClassicList.text(form)
      // Only text is printed bare, for people.
      if case .string = form { return }
      let isKept = form.hasOnlyText || ClassicListReader.parse(written) == form
      try promise(isKept, "a list that was written again is another one")
    }
    guard case .replace(let form) = try TypedWords.parse(words[...]) else { return }
    _ = PlainText.text(form)
    if case .string(let text) = form { _ = JSONForm.parse(text) }
  }

  static let oneTime = Parser(
    "otpauth", longest: 512,
    words: ["otpauth://totp/", "secret=", "algorithm=SHA256", "digits=8", "period=60", "&", "?", "#", "%3D"]
  ) { input in
    let code = try OneTimeURI.read(secret(input)).code(at: Date(timeIntervalSince1970: 1_111_111_109))
    try promise((6...8).contains(code.text.count) && code.secondsLeft > 0, "a code is none")
    try promise(
      code.text.withUnsafeBytes { $0.allSatisfy { (0x30...0x39).contains($0) } }, "a code has something else than digits")
  }

  /// An item's description, as a person left it in an editor.
  static let description = Parser(
    "description", longest: 512, words: ["label: ", "type: ", "expires: ", "attribute: ", "=", "\\n", "30d", "never"]
  ) { input in
    let metadata = try DescriptionForm.read(text(input), of: item(ItemMetadata()))
    // An expiry is rounded, and may be relative to now.
    var said = metadata
    said.expires = nil
    let again = try DescriptionForm.read(DescriptionForm.text(of: item(said)), of: item(said))
    try promise(again == said, "a description that was written again is another one")
  }

  private static func item(_ metadata: ItemMetadata) throws -> VaultItem {
    let moment = Date(timeIntervalSince1970: 0)
    return VaultItem(
      id: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), name: try ItemName(service: "s"), metadata: metadata,
      created: moment, modified: moment, written: moment, revision: 1, valueBytes: 0)
  }

  /// A program's output with masked secrets: the first byte selects how many bytes come at once.
  static let mask = Parser("mask", longest: 256, words: ["secret", "secrets", "ecret-two", "etwo"]) { input in
    let (first, output) = input.choice
    var mask = try OutputMask(automaton.get(), chunk: 16)
    var rest = output[...]
    var written: [UInt8] = []
    func write(_ bytes: UnsafeRawBufferPointer) { written += bytes }
    while true {
      let got = try mask.take(
        { buffer in
          let next = rest.prefix(min(buffer.count, 1 + Int(first % 16)))
          buffer.copyBytes(from: next)
          rest = rest.dropFirst(next.count)
          return next.count
        }, write)
      guard got > 0 else { break }
    }
    try mask.finish(write)
    try promise(written == masked(output), "the output is masked otherwise")
  }

  private static let secrets = ["secret", "secret-two", "etwork", "two-t"]
  private static let automaton = Result {
    try MaskAutomaton(secrets.map { SecretForm(try secret(Array($0.utf8))) })
  }

  /// The same, in the plainest way.
  private static func masked(_ output: [UInt8]) -> [UInt8] {
    var isSecret = [Bool](repeating: false, count: output.count)
    for secret in secrets.map({ Array($0.utf8) }) where secret.count <= output.count {
      for start in 0...output.count - secret.count where output[start..<start + secret.count].elementsEqual(secret) {
        for index in start..<start + secret.count { isSecret[index] = true }
      }
    }
    var masked: [UInt8] = []
    for index in output.indices {
      if !isSecret[index] {
        masked.append(output[index])
      } else if index == 0 || !isSecret[index - 1] {
        masked += OutputMask.mark.utf8
      }
    }
    return masked
  }
}

extension PlainForm {
  fileprivate var hasOnlyText: Bool { if case .string = self { true } else { false } }
}
