/// A program that depends on one product, and imports only that.
struct Consumer: Sendable {
  let product: String
  private let body: String

  /// Its declarations are in their own type, so that many fit into one module.
  var text: String { "import \(product)\nenum \(product)Consumer {\n\(body)\n}\n" }

  private init(_ product: String, _ body: String) {
    self.product = product
    self.body = body
  }

  static let all = [
    application, vault, defaults, values, store, agent, client, foundation, postgres, sync, tests, handlers, login,
  ]

  private static let postgres = Consumer(
    "CofferPostgres",
    """
      static func open(_ key: consuming SecretBytes, _ options: VaultOptions) throws -> UnlockedVault {
        PostgresVaults.use()
        let place: VaultPlace = "postgresql://db.example.com/team#main"
        return try LockedVault.open(place, options: options).unlock(with: Credentials(keyFile: key))
      }
      static func settings(_ place: VaultPlace) throws -> any Store<Plain> {
        let interval = StorageKey("poll.interval", default: 30)
        let settings = try PostgresDefaults.open(domain: "com.example.app", at: place)
        try settings.set(settings.value(for: interval) + 1, for: interval)
        let subscription: Subscription = try settings.changes.subscribe { event in
          if case .changes(let changes) = event { for change in changes { print(change.name, change.cause) } }
        }
        subscription.cancel()
        try settings.save(PlainForm.string("dark"), for: "theme")
        print(try settings.names(), try settings.explain("theme"))
        return settings
      }
    """)

  private static let sync = Consumer(
    "CofferSync",
    """
      static func join(_ place: VaultPlace, _ options: VaultOptions, _ credentials: consuming Credentials) throws {
        let pins: FilePath = "/srv/pins", caches: FilePath = "/srv/caches"
        let sync = try VaultSync("git@host:ada/vault.git", pins: pins, caches: caches)
        let locked = try LockedVault.open(place, options: options)
        if try !sync.isInStep(locked) {
          var options = SyncOptions(machine: "desk")
          options.keptUntil = nil
          let report = try sync.run(locked.unlock(with: credentials), options)
          for taken in report.taken { print(taken.machine, taken.changes.conflicts.map(\\.name)) }
        }
        try sync.setAutomatic(true, for: locked.id)
        for status in try VaultSync.remotes(of: locked.id, pins: pins) { print(status.remote, status.machines.map(\\.generation)) }
      }
      static func copy(_ file: FilePath, _ options: VaultOptions, _ credentials: consuming Credentials) throws -> SyncReport {
        let sync = try VaultSync("/media/stick/vault", pins: "/srv/pins", caches: "/srv/caches")
        return try sync.clone(to: file, with: credentials, options: options, SyncOptions(machine: "lap"))
      }
    """)

  private static let application = Consumer(
    "Coffer",
    """
      enum Theme: String, PlainValue { case light, dark }
      struct Token: Codable, SecretPayload { var text = "" }
      struct Keys: KeySpace {
        let theme = StorageKey("theme", default: Theme.light).labelled("The theme")
        let user = StorageKey("user", of: String.self).endsWithSession()
        let token = StorageKey("token", secret: Token.self).whenUndecodable(.throw).endsWithSession()
      }
      final class Model: Sendable {}

      static func start(_ password: consuming SecretBytes, _ keys: Keys) throws -> (StorageRouter, VaultStore) {
        let places = Places(home: FilePath("/srv").appending("coffer"))
        let vault = try VaultStore(service: "app", vault: places.openVault())
        try vault.unlock(with: Credentials(passphrase: password))
        let overrides = try Overrides.commandLine(andEnvironment: "APP_")
        return (try StorageRouter.open("app", keys: keys, vault: vault, places: places, overrides: overrides), vault)
      }
      static func byAgent(_ keys: Keys) throws -> StorageRouter {
        let agent: AgentStore = try Places.standard().agentStore(service: "app")
        return try StorageRouter.open("app", keys: keys, vault: agent)
      }
      static func use(_ app: StorageRouter, _ keys: Keys, _ model: Model) throws {
        _ = try app.observe(keys.theme, owner: model) { result in
          do { _ = try result.get() } catch { print(error) }
        }
        try app.transaction { transaction in try change(transaction, keys) }
        print(try app.explain(keys.theme), app.credentialLikeKeys.count, app.migrations)
        try app.synchronize()
        try app.close()
      }
      static func change(_ transaction: Transaction, _ keys: Keys) throws {
        try transaction.set(Sealed(Token(text: "t")), for: keys.token)
        try toggle(keys.theme, in: transaction)
      }
      static func toggle(_ key: StorageKey<Theme, Plain>, in transaction: Transaction) throws {
        try transaction.update(key) { $0 = $0 == .dark ? .light : .dark }
      }
      static func session(_ app: StorageRouter, _ keys: Keys) throws -> Session<String>.State {
        let session = try app.session(user: keys.user, credential: keys.token)
        return try session.state()
      }
      static func items(_ vault: borrowing UnlockedVault, _ secret: consuming SecretBytes) throws -> Bool {
        let name = try ItemName(service: "smtp", account: "ada")
        try vault.set(secret, label: "Mail", for: name)
        guard let first = try vault.get(name), let second = try vault.get(name) else { return false }
        return first.bytes.isEqual(to: second.bytes) && first.metadata.label == "Mail"
      }
      static func elsewhere(_ path: FilePath, _ place: String, _ text: String, _ identity: Credentials.Type) throws -> UnlockedVault {
        var places = try Places.standard()
        places.vault = "/srv/team/vault.sqlite"
        places.vault = .init(place)
        var vault = try LockedVault.open(.file(path), options: places.vaultOptions)
        vault.options.invitations = [try .init(text)]
        return try vault.join(with: identity.standard()) { claim in claim.mark.hasPrefix("0a") }
      }
      static func plain() throws -> DefaultsStore { try Places.standard().openDefaults("app") }
      static func kind(_ error: StoreError) -> Bool { error.kind == .locked }
    """)

  private static let vault = Consumer(
    "CofferVault",
    """
      static func make(_ path: FilePath, _ passphrase: consuming SecretBytes) throws -> LockedVault {
        guard SecretMemory.hardenProcess() else { throw StoreError(.refused, "no", cure: "none") }
        let vault = try UnlockedVault.create(
          at: .file(path), with: Credentials(passphrase: passphrase), options: VaultOptions(pins: path.removingLastComponent()))
        let name = try ItemName(service: "smtp", account: "ada")
        try vault.set(SecretForm(KeyFile.generate(), metadata: ItemMetadata(label: "Mail")), for: name, if: .always)
        for item in try vault.list(service: "smtp") { print(item.name, item.metadata.label) }
        return try vault.lock()
      }
      static func store(_ vault: LockedVault) throws -> Sealed<String>? {
        let store: any Store<Vault> = try VaultStore(service: "app", vault: vault)
        return try store.value(for: StorageKey("token", secret: String.self))
      }
    """)

  private static let defaults = Consumer(
    "CofferDefaults",
    """
      struct Window: Codable, PlainValue { var width = 800 }
      static let window = StorageKey("window", default: Window())

      static func use(in folder: FilePath) throws(StoreError) -> Explanation {
        let store = try DefaultsStore.open(domain: "app", in: folder, suites: ["group"], registered: ["zoom": .real(1)])
        try store.set(Window(width: 3), for: window)
        if let form: PlainForm = try store.load("zoom") { print(form.kindName) }
        let explanation = try store.explain("window")
        try store.synchronize()
        try store.close()
        return explanation
      }
      static func rest(_ store: any Store<Plain>) throws(StoreError) -> Window { try store.value(for: window) }
    """)

  private static let values = Consumer(
    "CofferValues",
    """
      enum Theme: String, PlainValue { case light, dark }
      static func handles(_ store: DefaultsStore) throws {
        let width = store.persistedValue(for: StorageKey("width", default: 3))
        width.wrappedValue = 4
        let subject = width.subject()
        _ = subject.wrappedValue
        let storage = try PersistentStorage(suiteName: "app", in: FilePath("/srv"))
        try storage.setValue("ada", forKey: "name")
        let cache: any Store<Plain> = CacheStore<Plain>(limit: 3)
        _ = cache.persistedValue(for: StorageKey("theme", default: Theme.light))
      }
      static func secret(_ store: any Store<Vault>) throws(StoreError) -> Sealed<String>? {
        try store.persistedValue(for: StorageKey("token", secret: String.self)).load()
      }
    """)

  private static let store = Consumer(
    "CofferStorage",
    """
      final class NullStore: DecidingStore {
        var place: String { "nowhere" }
        func load(_ name: String) throws(StoreError) -> SecretForm? { nil }
        func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
          names.map { _ in Reading(form: nil, stamp: RecordVersion.absent) }
        }
        func names() throws(StoreError) -> [String] { [] }
        func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
          if let form = try body(nil), form.bytes.count > 0 { throw refusal(name) }
        }
        func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
          guard let name = batch.writes.keys.first else { return }
          throw refusal(name)
        }
        private func refusal(_ name: String) -> StoreError {
          StoreError(.readOnly, "nothing can be stored", key: name, place: place, cure: "take another store")
        }
      }
      static func router(_ keys: any KeySpace) throws(StoreError) -> StorageRouter {
        try StorageRouter(plain: MemoryStore<Plain>(), vault: NullStore(), keys: keys)
      }
      static func bytes() throws -> SecretForm { try SecretForm(SecretBytes(zeros: 3)) }
    """)

  private static let agent = Consumer(
    "CofferAgent",
    """
      static func serve(_ folder: FilePath, _ vault: FilePath) throws(StoreError) {
        let server = try AgentServer(AgentSettings(folder: folder, vault: .file(vault), options: VaultOptions(pins: folder)))
        try server.run()
      }
      static func ask(_ folder: FilePath, _ vault: FilePath, _ passphrase: consuming SecretBytes) throws -> SecretForm? {
        let client = AgentClient(folder: folder, vault: .file(vault), options: .withoutPins)
        try client.unlock(with: Credentials(passphrase: passphrase))
        let store = try AgentStore(service: "app", vault: .file(vault), client: client)
        _ = try store.value(for: StorageKey("token", secret: String.self))
        return try client.get(ItemName(service: "smtp", account: "ada"))
      }
    """)

  private static let client = Consumer(
    "CofferClient",
    """
      static func use(_ passphrase: SecretBuffer) async throws -> Int {
        let agent: AgentConnection = try .standard()
        if try await agent.isLocked() { try await agent.unlock(with: [.passphrase(passphrase)], idle: 60) }
        let item = AgentItem(service: "smtp", account: "ada")
        do throws(ClientError) { try await agent.set(SecretBuffer("v"), for: item, replacing: false) } catch {
          guard error.kind == .alreadyExists else { throw error }
        }
        for try await moment: AgentConnection.Moment in agent.changes() where moment.vault == nil { break }
        return try await agent.value(of: item)?.withBytes { bytes in bytes.byteCount } ?? 0
      }
    """)

  private static let login = Consumer(
    "CofferLogin",
    """
      static func person(_ secret: consuming SecretBytes) async throws -> SecretForm {
        let server = try await AuthorizationServer.discover(issuer: "https://id.example")
        let client = OAuthClient(id: "app", secret: SecretForm(secret), at: server, scopes: ["read"])
        let login = try await client.loginByCode()
        print(login.verificationURL, login.userCode)
        do { return try await login.wait().access } catch let error as StoreError where error.kind == .loginRefused {
          return try await client.loginByBrowser().wait().access
        }
      }
    """)

  private static let foundation = Consumer(
    "CofferFoundation",
    """
      static func use() throws(StoreError) -> Int {
        let store: any LayeredStore = try UserDefaultsStore(suiteName: "app")
        try store.synchronize()
        return try store.value(for: StorageKey("launches", default: 0))
      }
    """)

  private static let tests = Consumer(
    "CofferTesting",
    """
      static func mock() throws(StoreError) -> Int {
        let storage = MockStore<Plain>()
        storage.values = ["theme": .string("dark")]
        storage.fail { call, name in call == .set ? StoreError(.noSpace, "full", key: name, cure: "free some") : nil }
        storage.tell(Change("theme", .set, by: .thisProcess))
        return storage.gets["theme"] ?? 0
      }
      static func conforms(_ store: any DecidingStore) async throws {
        for check in ConformanceCheck.allCases { try await StoreConformance<Vault>("Mine") { .init(store) }.run(check) }
      }
      static func home() throws -> (DefaultsStore, Places) {
        let home = try TestHome()
        return (try home.openDefaults("app"), home.places)
      }
      static func clock() -> ManualClock { ManualClock() }
    """)

  private static let handlers = Consumer(
    "CofferObservation",
    """
      final class Window: Sendable {}
      static func tell(_ window: Window) {
        let changed = Handler<Int>()
        let cancel = changed.add(window) { _ in }
        changed.trigger(1)
        cancel()
      }
    """)
}
