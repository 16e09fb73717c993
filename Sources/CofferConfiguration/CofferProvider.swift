#if Configuration
  internal import CofferPlatform
  public import CofferStorage
  public import Configuration
  internal import FoundationEssentials

  /// The preferences and secrets of a router, as swift-configuration's readers see them.
  ///
  /// ```swift
  /// let config = ConfigReader(providers: [EnvironmentVariablesProvider(), CofferProvider(app)])
  /// let port = config.int(forKey: "http.port", default: 8080)
  /// let token = try config.requiredString(forKey: "billing.token")
  /// ```
  ///
  /// The parts of a reader's key, joined with dots, are the name of a key that the router declares; a name that it does not
  /// declare has no value here, so that the next provider is asked. A secret is always marked as one, and what
  /// swift-configuration hands out of it is an ordinary value that nobody wipes. A vault that is locked, a value that has expired
  /// or that is of another type is an error and never an absent value.
  public struct CofferProvider: ConfigProvider {
    /// What reports of accesses call this provider.
    public let providerName: String
    private let router: StorageRouter

    /// A provider of what `router` declares.
    public init(_ router: StorageRouter, name: String = "Coffer") {
      self.router = router
      providerName = name
    }

    /// The value that is stored now.
    ///
    /// - Throws: `StoreError` `.locked`, `.expired`, `.undecodable(stored:)`, and what else the store says.
    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
      let name = Self.name(of: key)
      return LookupResult(encodedKey: name, value: try DeclaredForm.load(name, from: router)?.value(type, name))
    }

    /// The same: the stores are here.
    nonisolated(nonsending) public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
      try value(forKey: key, type: type)
    }

    /// Tells the value that is stored now, and again whenever any process changed it, or the vault was locked or unlocked.
    ///
    /// - Throws: what watching the stores and `updatesHandler` throw.
    nonisolated(nonsending) public func watchValue<Return: ~Copyable>(
      forKey key: AbsoluteConfigKey, type: ConfigType,
      updatesHandler:
        nonisolated(nonsending) (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
    ) async throws -> Return {
      let name = Self.name(of: key)
      let feeds =
        router.keys.declaration(of: name).map { [$0.traits.isSecret ? router.vault.changes : router.plain.changes] } ?? []
      let places = router.keys.places(of: name)
      let (news, subscriptions) = try Self.news(of: feeds) { event in places.contains(where: event.concerns) }
      defer { for subscription in subscriptions { subscription.cancel() } }
      return try await updatesHandler(
        ConfigUpdatesAsyncSequence(news.map { [self] in Result { try value(forKey: key, type: type) } }))
    }

    /// What all declared keys hold now, each read by itself.
    public func snapshot() -> any ConfigSnapshot { Snapshot(providerName: providerName, values: readAll()) }

    /// Tells a snapshot now, and again whenever any process changed something, or the vault was locked or unlocked.
    ///
    /// - Throws: what watching the stores and `updatesHandler` throw.
    nonisolated(nonsending) public func watchSnapshot<Return: ~Copyable>(
      updatesHandler: nonisolated(nonsending) (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return {
      let (news, subscriptions) = try Self.news(of: [router.plain.changes, router.vault.changes]) { $0 != .ended }
      defer { for subscription in subscriptions { subscription.cancel() } }
      return try await updatesHandler(ConfigUpdatesAsyncSequence(news.map { [self] in snapshot() }))
    }
  }

  extension CofferProvider {
    fileprivate struct Snapshot: ConfigSnapshot {
      let providerName: String
      let values: [String: Result<DeclaredForm?, StoreError>]

      func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let name = CofferProvider.name(of: key)
        return LookupResult(encodedKey: name, value: try values[name]?.get().map { try $0.value(type, name) })
      }
    }

    fileprivate static func name(of key: AbsoluteConfigKey) -> String { key.components.joined(separator: ".") }

    private func readAll() -> [String: Result<DeclaredForm?, StoreError>] {
      var values: [String: Result<DeclaredForm?, StoreError>] = [:]
      for name in storedNames() where router.keys.declaration(of: name) != nil {
        values[name] = Result { () throws(StoreError) in try DeclaredForm.load(name, from: router) }
      }
      return values
    }

    /// The declared names, and those of the members of families, as far as the stores tell them now.
    private func storedNames() -> Set<String> {
      var names = Set(router.declared.keys)
      // A store that cannot be read says so for each of its declared keys.
      do throws(StoreError) { names.formUnion(try router.plain.names()) } catch {}
      do throws(StoreError) { names.formUnion(try router.vault.names()) } catch {}
      return names
    }

    /// One element now, and one after each event that `concerns` says something of; of several that nobody took, the last.
    private static func news(
      of feeds: [ChangeFeed], _ concerns: @escaping @Sendable (ChangeFeed.Event) -> Bool
    ) throws(StoreError) -> (AsyncStream<Void>, [Subscription]) {
      let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
      var subscriptions: [Subscription] = []
      for feed in feeds { subscriptions.append(try feed.subscribe { if concerns($0) { continuation.yield() } }) }
      continuation.yield()
      return (stream, subscriptions)
    }
  }

  extension DeclaredForm {
    /// The value as what was asked for.
    ///
    /// - Throws: `.undecodable(stored:)` where it is something else.
    fileprivate func value(_ type: ConfigType, _ name: String) throws -> ConfigValue {
      do throws(StoreError) { return ConfigValue(try content(type), isSecret: isSecret) } catch { throw error.about(key: name) }
    }

    private var isSecret: Bool { if case .secret = self { true } else { false } }

    private func content(_ type: ConfigType) throws(StoreError) -> ConfigContent {
      switch type {
      case .string: .string(try decoded())
      case .int: .int(try decoded())
      case .double: .double(try decoded())
      case .bool: .bool(try decoded())
      case .bytes: .bytes(Array(try decoded(Data.self)))
      case .stringArray: .stringArray(try decoded())
      case .intArray: .intArray(try decoded())
      case .doubleArray: .doubleArray(try decoded())
      case .boolArray: .boolArray(try decoded())
      case .byteChunkArray: .byteChunkArray(try decoded([Data].self).map { Array($0) })
      }
    }

    private func decoded<Value: Codable & PlainValue>(_: Value.Type = Value.self) throws(StoreError) -> Value {
      switch self {
      case .plain(let form):
        if let value = Value(plainForm: form) { return value }
        throw StoreError(
          .undecodable(stored: form.kindName), "the value is no \(Value.self)",
          cure: "read it as what it is, or store it anew")
      case .secret(let form): return try form.decoded()
      }
    }
  }
#endif
