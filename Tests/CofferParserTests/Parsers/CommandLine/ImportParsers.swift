import Coffer
import CofferStorage
import CofferVault

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferCLI
@testable import CofferFormats

enum ImportParsers {
  static let all =
    [
      format(
        .bitwarden, "import-bitwarden", longest: 2048, ["bitwarden.json", "bitwarden.csv"],
        json + ["\"items\"", "\"login\"", "\"fields\"", "\"encrypted\"", "name,notes,fields"]),
      format(
        .onePassword, "import-1password", longest: 2048, ["1password.csv"],
        json + ["\"accounts\"", "\"vaults\"", "\"sections\"", "\"concealed\"", "\"totp\""]),
      format(
        .keepass, "import-keepass", longest: 2048, ["keepass.xml", "keepass1.csv", "keepassxc.csv"],
        [
          "<KeePassFile>", "<Root>", "<Group>", "<Entry>", "<String>", "<Key>", "<Value", "Protected=\"True\"", "<![CDATA[",
          "<!--",
        ]),
      format(.chrome, "import-csv", ["chrome.csv"], ["name,url,username,password,note", "\"", ",", "\r\n", "\"\""]),
      format(.firefox, "import-firefox", ["firefox.csv"], ["\"url\",\"username\",\"password\"", "\"", ",", "\"\""]),
      format(.netrc, "import-netrc", ["netrc"], ["machine", "default", "login", "password", "account", "macdef", "\n\n"]),
      format(.gitCredentials, "import-git", ["git-credentials"], ["https://", ":", "@", "%40", "/"]),
      format(.docker, "import-docker", ["docker-config.json"], json + ["\"auths\"", "\"auth\"", "\"identitytoken\"", "dTpw"]),
      format(.aws, "import-aws", ["aws-credentials"], ["[default]", "aws_access_key_id", "aws_secret_access_key", " = ", "#"]),
      format(.gh, "import-gh", ["gh-hosts.yml"], ["github.com:", "    oauth_token:", "users:", "user:", "\n  "]),
      pass, items, recognition,
    ]

  static let json = ["{", "}", "[", "]", "\"", "\\u0041", "\\ud83d\\ude00", "null", "true", ":", ","]

  private static func format(
    _ format: ImportFormat, _ name: String, longest: Int = 512, _ files: [String], _ words: [String]
  ) -> Parser {
    Parser(name, longest: longest, words: words, fixtures: files.map { "Imports/\($0)" }) { input in
      let text = try ImportText.read(CommandLineParsers.secret(input), place: "file")
      try check(format.entries(in: text, place: "file"), text)
    }
  }

  /// A format's result must be items that a vault accepts, and ranges of the file.
  private static func check(_ found: ImportedEntries, _ text: borrowing SecretBytes) throws {
    let count = text.count
    for cut in found.entries.flatMap(\.cuts) {
      try promise(cut.range.lowerBound >= 0 && cut.range.upperBound <= count, "a place to cut is not in the file")
    }
    let made = try EntryItems(found)
    try promise(Set(made.items.map(\.name)).count == made.items.count, "two items have one name")
    for item in made.items {
      let name = item.name
      let again = try ItemName(service: name.service, account: name.account)
      try promise(name.field.isEmpty || (try again.field(named: name.field)) == name, "an item has a name that none may have")
      try promise(item.form.bytes.count <= VaultItem.largestValue, "a value is larger than any may be")
    }
    try promise(made.parts.count == found.entries.count, "an entry became nothing")
  }

  /// An entry of pass, or of gopass if the first byte is odd.
  private static let pass = Parser(
    "import-pass", words: ["user: ", "url: ", "otpauth://totp/a?secret=", "---\n", "GOPASS-SECRET-1.0\n", "\n  "]
  ) { input in
    let (first, content) = input.choice
    var entry = ImportedEntry()
    entry.service = "service"
    let text = try CommandLineParsers.secret(content)
    try PassBody.read(text, style: first & 1 == 1 ? .gopass : .pass, into: &entry)
    var found = ImportedEntries()
    found.add(entry)
    try check(found, text)
  }

  private static let items = Parser(
    "import-items", longest: 512,
    words: json + [
      "\"coffer\":1", "\"items\"", "\"service\"", "\"account\"", "\"value\"", "\"base64\"", "\"attributes\"", "\"created\"",
    ]
  ) { input in
    for item in try JSONItems.read(CommandLineParsers.secret(input), place: "file") {
      _ = try ItemName(service: item.name.service, account: item.name.account)
    }
  }

  private static let recognition = Parser(
    "import-any", words: json + ["\"coffer\"", "machine", "<KeePassFile", "[x]", "aws_", "oauth_token:"], fixtures: ["Imports"]
  ) { input in
    let text = try ImportText.read(CommandLineParsers.secret(input), place: "file")
    _ = try ImportFormat.recognized(in: text, place: "file")
    _ = try DockerHelperSetting.cuts(text, "file")
  }
}
