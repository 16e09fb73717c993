internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// A credential of git's: a password, or a ready header with its scheme, and their attributes.
///
/// In the vault a plain password is its bare bytes, so that it can be stored and read by hand. Anything more is a list of
/// the protocol's lines, with its own type.
struct GitCredential {
  static let contentType = "application/x-git-credential"

  var password: SecretForm?
  var credential: SecretForm?
  var refreshToken: SecretForm?
  var authtype: String?
  /// In seconds since 1970.
  var expiry: UInt64?

  init() {}

  init(_ message: GitMessage) {
    password = message.secrets["password"]
    credential = message.secrets["credential"]
    refreshToken = message.secrets["oauth_refresh_token"]
    authtype = message.texts["authtype"]
    expiry = message.texts["password_expiry_utc"].flatMap { UInt64($0) }
    if authtype == nil || credential == nil { (authtype, credential) = (nil, nil) }
  }

  var isExpired: Bool { expiry.map { Date(timeIntervalSince1970: Double($0)) <= Date() } ?? false }

  /// An empty one is none: see `init(_:)`.
  var isBarePassword: Bool { credential == nil && refreshToken == nil && password.map { $0.bytes.count > 0 } ?? true }

  func isSame(as other: GitCredential) -> Bool {
    authtype == other.authtype && expiry == other.expiry && SecretForm.areSame(password, other.password)
      && SecretForm.areSame(credential, other.credential) && SecretForm.areSame(refreshToken, other.refreshToken)
  }

  // MARK: As an item

  init(_ form: SecretForm) throws {
    guard form.metadata.contentType == Self.contentType else {
      // An import makes items without a value of logins without a password.
      password = form.bytes.count > 0 ? form : nil
      expiry = form.metadata.expires.map { UInt64(max(0, $0.timeIntervalSince1970)) }
      return
    }
    var found = GitCredential()
    try form.bytes.withUnsafeBytes { raw in
      for line in raw.split(separator: 0x0A) { try found.add(UnsafeRawBufferPointer(rebasing: line)) }
    }
    self = found
  }

  /// Nil if it has expired. It is not renewed.
  init?(_ item: VaultItem, in items: VaultItems, revision: UInt64? = nil) throws {
    do {
      let previous = try revision.map { try items.value(of: item.name, revision: $0) }
      guard let form = try previous ?? items.get(item.name) else { return nil }
      self = try GitCredential(form)
    } catch let error as StoreError {
      guard error.kind == .expired else { throw error.about(key: item.name.description) }
      return nil
    }
  }

  private mutating func add(_ line: UnsafeRawBufferPointer) throws {
    guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { throw Self.damaged }
    let value = UnsafeRawBufferPointer(rebasing: line[(equals + 1)...])
    switch PlainBytes.text(UnsafeRawBufferPointer(rebasing: line[..<equals])) {
    case "password": password = SecretForm(try SecretBytes(copying: value))
    case "credential": credential = SecretForm(try SecretBytes(copying: value))
    case "oauth_refresh_token": refreshToken = SecretForm(try SecretBytes(copying: value))
    case "authtype": authtype = PlainBytes.text(value)
    case "password_expiry_utc": expiry = PlainBytes.text(value).flatMap { UInt64($0) }
    default: throw Self.damaged
    }
  }

  /// The item's value. A bare password expires with the item; with a refresh token, which stays useful, the item does not
  /// expire.
  func form() throws -> SecretForm {
    guard !isBarePassword else {
      let value = try password?.bytes.duplicate() ?? SecretBytes(zeros: 0)
      let expires = expiry.map { Date(timeIntervalSince1970: Double($0)) }
      return SecretForm(value, metadata: ItemMetadata(contentType: "text/plain", expires: expires))
    }
    return SecretForm(try lines(), metadata: ItemMetadata(contentType: Self.contentType))
  }

  private func lines() throws -> SecretBytes {
    var lines = SecretLines()
    if let password { lines.add("password", password) }
    if let refreshToken { lines.add("oauth_refresh_token", refreshToken) }
    if let credential { lines.add("credential", credential) }
    if let authtype { lines.add("authtype", authtype) }
    if let expiry { lines.add("password_expiry_utc", String(expiry)) }
    return try lines.bytes()
  }

  private static let damaged = StoreError(
    .damaged, "the item is not a git credential", cure: "coffer delete removes it; git will ask again")
}

struct SecretLines {
  /// Texts, each with a secret behind it.
  var lines: [(text: String, secret: SecretForm?)] = []

  mutating func add(_ key: String, _ text: String) { lines.append(("\(key)=\(text)", nil)) }
  mutating func add(_ key: String, _ secret: SecretForm) { lines.append(("\(key)=", secret)) }

  func bytes() throws -> SecretBytes {
    try SecretBytes.written { put in
      for (text, secret) in lines {
        text.utf8.forEach(put)
        secret?.bytes.withUnsafeBytes { $0.forEach(put) }
        put(UInt8(ascii: "\n"))
      }
    }
  }
}
