extension ForbiddenProgram {
  /// Programs that the handles to single values refuse.
  static let values: [ForbiddenProgram] = [
    ForbiddenProgram(
      "merging a secret with a plain value",
      forbidden: #"""
        static func f(_ p: MemoryStore<Plain>, _ v: MemoryStore<Vault>) {
          _ = p.persistedValue(forKey: "a").string().merge(with: v.persistedValue(forKey: "a").string()) { a, _ in a }
        }
        """#,
      sentence: "a secret does not merge with a plain value: what is written goes to both",
      allowed: #"""
        static func f(_ p: MemoryStore<Plain>, _ q: MemoryStore<Plain>) {
          _ = p.persistedValue(forKey: "a").string().merge(with: q.persistedValue(forKey: "a").string()) { a, _ in a }
        }
        """#),
    ForbiddenProgram(
      "a secret read like a property",
      forbidden: #"static func f(_ v: MemoryStore<Vault>) { _ = v.persistedValue(forKey: "a").string().wrappedValue }"#,
      sentence: "say what a locked vault does: .onFailure(use: nil) { error in … }.wrappedValue, or use load() and save(_:)",
      allowed: #"""
        static func f(_ v: MemoryStore<Vault>) {
          _ = v.persistedValue(forKey: "a").string().onFailure(use: nil) { _ in }.wrappedValue
        }
        """#),
    ForbiddenProgram(
      "a secret set like a property",
      forbidden: #"static func f(_ v: MemoryStore<Vault>) { v.persistedValue(forKey: "a").string().wrappedValue = "x" }"#,
      sentence: "say what a locked vault does: .onFailure(use: nil) { error in … }.wrappedValue, or use load() and save(_:)",
      allowed: #"""
        static func f(_ v: MemoryStore<Vault>) {
          v.persistedValue(forKey: "a").string().onFailure(use: nil) { _ in }.wrappedValue = "x"
        }
        """#),
    ForbiddenProgram(
      "a secret's subject without a failure policy",
      forbidden: #"static func f(_ v: MemoryStore<Vault>) { _ = v.persistedValue(forKey: "a").string().subject() }"#,
      sentence: "say what a locked vault does first: .onFailure(use: nil) { error in … }.subject()",
      allowed: #"""
        static func f(_ v: MemoryStore<Vault>) {
          _ = v.persistedValue(forKey: "a").string().onFailure(use: nil) { _ in }.subject()
        }
        """#),
    ForbiddenProgram(
      "a secret read as nothing while the vault is locked, though nobody wrote that",
      forbidden: #"static func f(_ v: MemoryStore<Vault>) { _ = v.persistedValue(forKey: "a").string().onFailure { _ in } }"#,
      sentence: "say what a locked vault reads as: .onFailure(use: nil) { error in … }",
      allowed:
        #"static func f(_ v: MemoryStore<Vault>) { _ = v.persistedValue(forKey: "a").string().onFailure(use: nil) { _ in } }"#),
    ForbiddenProgram(
      "a secret's handle erased without a failure policy",
      forbidden:
        #"static func f(_ v: MemoryStore<Vault>) { _ = v.persistedValue(forKey: "a").string().eraseToAnyPersistedValue() }"#,
      sentence: "say what a locked vault does first: .onFailure(use: nil) { error in … }.eraseToAnyPersistedValue()",
      allowed: #"""
        static func f(_ v: MemoryStore<Vault>) {
          _ = v.persistedValue(forKey: "a").string().onFailure(use: nil) { _ in }.eraseToAnyPersistedValue()
        }
        """#),
    ForbiddenProgram(
      "a secret key as a property without a failure policy",
      forbidden: "static func f(_ app: StorageRouter) { _ = Persisted(keys.pin, in: app) }",
      sentence: "say what a locked vault does: Persisted(app.persistedValue(for: key).onFailure(use: nil) { error in … })",
      allowed: """
        static func f(_ app: StorageRouter) {
          _ = Persisted(app.persistedValue(for: keys.pin).onFailure(use: nil) { _ in })
        }
        """),
    ForbiddenProgram(
      "a container's value of another type",
      forbidden: #"static func f(_ container: KeyValueContainer<Int>) { container.value = "Text" }"#,
      sentence: "cannot assign value of type 'String' to type 'Int'",
      allowed: "static func f(_ container: KeyValueContainer<Int>) { container.value = 5 }"),
    ForbiddenProgram(
      "a second container of a name",
      forbidden: """
        struct Storage {
          let store: MemoryStore<Plain>
          var foobar: KeyValueContainer<Int> { store.makeContainer() }
          var foobar: KeyValueContainer<String> { store.makeContainer() }
        }
        """,
      sentence: "invalid redeclaration of 'foobar'",
      allowed: """
        struct Storage {
          let store: MemoryStore<Plain>
          var foobar: KeyValueContainer<Int> { store.makeContainer() }
          var barfoo: KeyValueContainer<String> { store.makeContainer() }
        }
        """),
    ForbiddenProgram(
      "a plain handle of a type that has not said so",
      forbidden: #"static func f(_ p: MemoryStore<Plain>) { _ = p.persistedValue(forKey: "a").codable(Unsaid.self) }"#,
      sentence: "requires that 'P.Unsaid' conform to 'PlainValue'",
      allowed: #"static func f(_ p: MemoryStore<Plain>) { _ = p.persistedValue(forKey: "a").codable(Theme.self) }"#),
    ForbiddenProgram(
      "a sealed value through a plain storage",
      forbidden: #"static func f(_ p: MemoryStore<Plain>, _ s: Sealed<String>) throws { try p.setValue(s, forKey: "a") }"#,
      sentence: "requires that 'Sealed<String>' conform to 'PlainValue'",
      allowed: #"static func f(_ p: MemoryStore<Plain>, _ s: String) throws { try p.setValue(s, forKey: "a") }"#),
  ]

  /// Programs that the ownership checks refuse, which come after the type checker's.
  static let owned: [ForbiddenProgram] = [
    ForbiddenProgram(
      "using secret bytes after they went elsewhere",
      forbidden: "static func f(_ secret: consuming SecretBytes) -> (SecretForm, Int) { (SecretForm(secret), secret.count) }",
      sentence: "'secret' used after consume",
      allowed: """
        static func f(_ secret: consuming SecretBytes) -> (SecretForm, Int) {
          let count = secret.count
          return (SecretForm(secret), count)
        }
        """),
    ForbiddenProgram(
      "keeping borrowed secret bytes",
      forbidden: "static func f(_ secret: borrowing SecretBytes) -> SecretForm { SecretForm(secret) }",
      sentence: "'secret' is borrowed and cannot be consumed",
      allowed: "static func f(_ secret: consuming SecretBytes) -> SecretForm { SecretForm(secret) }"),
    ForbiddenProgram(
      "keeping the span of a secret",
      forbidden: "static func f(_ secret: Sealed<String>) { var kept: RawSpan?; secret.withBytes { kept = $0 }; _ = kept }",
      sentence: "lifetime-dependent",
      allowed: "static func f(_ secret: Sealed<String>) { var kept = 0; secret.withBytes { kept = $0.byteCount }; _ = kept }"),
  ]
}
