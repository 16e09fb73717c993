internal import Coffer
internal import CofferStorage
internal import CofferTerminal

/// No value is opened.
struct SchemaComparison {
  enum State: String, Encodable, CaseIterable {
    case stored, absent
    /// A secret of the vault is in the plain store.
    case clear = "in-the-clear"
    /// The declared type cannot be read from the stored kind of value.
    case wrongType = "wrong-type"
    /// A preference is in the vault, where the program does not look.
    case vaulted = "in-the-vault"
    /// A value has a previous name of the key.
    case former = "former-name"
    case undeclared

    var isFinding: Bool { self != .stored && self != .absent }
    var words: String { rawValue.replacing("-", with: " ") }
  }

  struct Row: Encodable {
    let key: String
    let state: State
    @OrNull var store: String?
    @OrNull var type: String?
    @OrNull var kind: String?
    @OrNull var declared: String?
  }

  private(set) var rows: [Row] = []
  let declared: Int

  var findings: [Row] { rows.filter(\.state.isFinding) }

  var counts: String {
    State.allCases.map { state in (state.words, rows.count { $0.state == state }) }.filter { $0.1 > 0 }
      .map { "\($1) \($0)" }.joined(separator: ", ")
  }

  init(_ schema: Schema, _ router: ShellRouter, withVault: Bool) throws {
    declared = schema.keys.count
    let reserved: Set = [ReservedName.endsWithSession, ReservedName.scrubPending]
    var plain: [String: String] = [:]
    for name in try router.plain.names() where !reserved.contains(name) { plain[name] = try router.plain.load(name)?.kindName }
    let secrets = Set(try withVault ? router.vault()?.names() ?? [] : [])
    rows = plain.map { name, kind in Self.row(name, kind, schema) } + secrets.map { Self.row($0, nil, schema) }
    let there = Set(rows.map(\.key))
    for key in schema.keys where !key.isFamily && !there.contains(key.name) && (withVault || key.route == .plain) {
      rows.append(Row(key: key.name, state: .absent, store: nil, type: key.type, kind: nil, declared: key.site))
    }
    rows.sort { ($0.key, $0.store ?? "") < ($1.key, $1.store ?? "") }
  }

  /// - Parameter kind: nil for a secret.
  private static func row(_ name: String, _ kind: String?, _ schema: Schema) -> Row {
    let key = schema.key(of: name)
    let state: State =
      switch (key, kind) {
      case (nil, _): .undeclared
      case (let key?, .some) where key.route == .vault: .clear
      case (let key?, _) where !key.owns(name): .former
      case (let key?, let kind?): key.kinds?.contains(kind) ?? true ? .stored : .wrongType
      case (let key?, nil): key.route == .vault ? .stored : .vaulted
      }
    let store = kind == nil ? "vault" : "defaults"
    return Row(key: name, state: state, store: store, type: key?.type, kind: kind, declared: key?.site)
  }
}

extension Schema {
  fileprivate func key(of name: String) -> Entry? {
    keys.first { $0.owns(name) } ?? keys.first { key in key.formerNames.contains { $0.hasSameBytes(as: name) } }
  }
}

extension Schema.Entry {
  fileprivate func owns(_ name: String) -> Bool {
    isFamily ? name.utf8.starts(with: self.name.utf8) && name.utf8.count > self.name.utf8.count : name.hasSameBytes(as: self.name)
  }
}
