internal import ArgumentParser
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal

/// The program of `--from`. Its files are recognized by their content.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case json, env, coffer, pass, gopass, bitwarden
  case onePassword = "1password"
  case keepass, chrome, firefox, netrc
  case gitCredentials = "git-credentials"
  case docker, aws, gh
  case secretService = "secret-service"

  var title: String {
    switch self {
    case .json: "items of Coffer"
    case .env: "variables"
    case .coffer: "a Coffer vault"
    case .pass: "pass"
    case .gopass: "gopass"
    case .bitwarden: "Bitwarden"
    case .onePassword: "1Password"
    case .keepass: "KeePass"
    case .chrome: "Chrome"
    case .firefox: "Firefox"
    case .netrc: "a netrc file"
    case .gitCredentials: "git's credentials"
    case .docker: "docker's credentials"
    case .aws: "AWS credentials"
    case .gh: "gh's tokens"
    case .secretService: "a keyring"
    }
  }

  /// Nil for an export, which may be anywhere.
  var usualPlace: String? {
    let variable = ProcessEnvironment.value
    let home = variable("HOME") ?? ""
    switch self {
    case .pass: return PassStore.standard
    case .gopass: return PassStore.gopass
    case .netrc: return variable("NETRC") ?? "\(home)/.netrc"
    case .gitCredentials: return "\(home)/.git-credentials"
    case .docker: return (variable("DOCKER_CONFIG") ?? "\(home)/.docker") + "/config.json"
    case .aws: return variable("AWS_SHARED_CREDENTIALS_FILE") ?? "\(home)/.aws/credentials"
    case .gh: return (variable("GH_CONFIG_DIR") ?? (variable("XDG_CONFIG_HOME") ?? "\(home)/.config") + "/gh") + "/hosts.yml"
    default: return nil
    }
  }

  var hasUsualPlace: Bool {
    switch self {
    case .pass, .gopass, .netrc, .gitCredentials, .docker, .aws, .gh, .secretService: true
    case .json, .env, .coffer, .bitwarden, .onePassword, .keepass, .chrome, .firefox: false
    }
  }

  /// Whether it is a folder or a kind of file that standard input cannot be.
  var needsPath: Bool { self == .pass || self == .gopass || self == .coffer }

  var layouts: [CSVLayout] {
    switch self {
    case .bitwarden: [.bitwarden]
    case .onePassword: [.onePassword]
    case .keepass: [.keePassXC, .keePass]
    case .chrome: [.chrome]
    case .firefox: [.firefox]
    default: []
    }
  }

  /// The entries of a text file. If a program writes several kinds of files, the first character tells them apart.
  func entries(in text: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    let first = text.withUnsafeBytes { $0.first { $0 > 0x20 } }
    let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    switch self {
    case .bitwarden where isJSON: return try BitwardenJSON.read(text, place: place)
    case .onePassword where isJSON: return try OnePasswordJSON.read(text, place: place)
    case .keepass where first == UInt8(ascii: "<"): return try KeePassXML.read(text, place: place)
    case .netrc: return try NetrcFile.read(text, place: place)
    case .gitCredentials: return try GitCredentialsFile.read(text, place: place)
    case .docker: return try DockerConfig.read(text, place: place)
    case .aws: return try AWSCredentials.read(text, place: place)
    case .gh: return try GitHubHosts.read(text, place: place)
    default: return try CSVEntries.read(text, layouts: layouts, place: place)
    }
  }

  /// The format of `file`, if its content leaves no doubt.
  static func recognized(in file: borrowing SecretBytes, place: String) throws -> ImportFormat? {
    let columns: [String]
    do { columns = try CSVEntries.columns(file, place: place) } catch let error as StoreError where error.kind == .damaged {
      columns = []  // No comma-separated values.
    }
    return try file.withUnsafeBytes { raw in
      let text = raw.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
      switch text.first {
      case UInt8(ascii: "{"): return try ofObject(raw, place)
      case UInt8(ascii: "["): return text.dropFirst().first { $0 > 0x20 } == UInt8(ascii: "{") ? .json : ofLines(raw)
      case UInt8(ascii: "<"): return contains(text.prefix(4096), "<KeePassFile") ? .keepass : nil
      default:
        // Firefox has all columns of Chrome but one, and KeePassXC some of 1Password's.
        return [ImportFormat.firefox, .keepass, .onePassword, .bitwarden, .chrome].first { format in
          format.layouts.contains { $0.fits(columns) }
        } ?? ofLines(raw)
      }
    }
  }

  /// By the first name in a JSON object that only one program uses.
  private static func ofObject(_ raw: UnsafeRawBufferPointer, _ place: String) throws -> ImportFormat? {
    var scanner = JSONScanner(raw, place: place)
    var format: ImportFormat?
    var isList = false
    try scanner.object { scanner, name in
      switch name {
      case "coffer": format = format ?? .json
      case "encrypted", "folders", "collections": format = format ?? .bitwarden
      case "accounts": format = format ?? .onePassword
      case "auths", "credsStore", "credHelpers": format = format ?? .docker
      case "items": isList = true
      default: break
      }
      try scanner.skip()
    }
    return format ?? (isList ? .json : nil)
  }

  private static func ofLines(_ raw: UnsafeRawBufferPointer) -> ImportFormat? {
    let lines = TextLines(raw).lazy.map(\.line.trimmed).filter { !$0.isEmpty && $0.first != UInt8(ascii: "#") }
    guard let first = lines.first(where: { _ in true }) else { return nil }
    if first.first == UInt8(ascii: "[") { return contains(raw[...], "aws_") ? .aws : nil }
    if ["machine", "default", "macdef"].contains(where: { word in
      first.starts(with: word.utf8) && (first.count == word.utf8.count || first.dropFirst(word.utf8.count).first ?? 0 <= 0x20)
    }) {
      return .netrc
    }
    if contains(first.prefix(32), "://"), first.contains(UInt8(ascii: "@")) { return .gitCredentials }
    return contains(raw[...], "oauth_token:") ? .gh : nil
  }

  private static func contains(_ text: TextLines.Line, _ word: String) -> Bool {
    let word = Array(word.utf8)
    return text.indices.contains { text[$0] == word[0] && text[$0...].starts(with: word) }
  }
}

extension CommandText {
  /// `coffer import --from PROGRAM FILE`, without the file where the program usually has it.
  static func importing(_ format: ImportFormat, _ file: String?) -> String {
    let place = file == format.usualPlace ? nil : file
    return (["coffer", "import", "--from", format.rawValue] + [place].compactMap(\.self)).map(quoted).joined(separator: " ")
  }
}
