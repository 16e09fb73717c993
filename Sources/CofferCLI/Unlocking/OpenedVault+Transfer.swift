internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferVault

extension OpenedVault {
  /// Lends each item with its value to `body`, expired ones too, by name; those without a value to `withoutValue`.
  borrowing func forEachItem(
    withFields: Bool = false, withoutValue: @escaping (VaultItem) throws -> Void, _ body: (VaultItem, SecretForm) throws -> Void
  ) throws {
    switch self {
    case .byAgent(let agent): try agent.forEachItem(withFields: withFields, withoutValue: withoutValue, body)
    case .here(let vault): try vault.forEachItem(withFields: withFields, withoutValue: withoutValue, body)
    }
  }

  /// Writes a new vault with the items of some services, or all, and returns their number. All include Coffer's own, which keep
  /// the active logins active and are not counted.
  borrowing func export(
    to target: VaultPlace, of places: Places, services: [String]?, with credentials: consuming Credentials, label: String
  ) throws(StoreError) -> Int {
    let own = ItemQuery(service: LoginItems.pointers)
    switch self {
    case .byAgent(let agent):
      let hidden = try services == nil ? agent.find(own).count : 0
      return try agent.export(
        to: target, of: places.vault, services: services, with: credentials, label: label, pins: places.vaultOptions.pins)
        - hidden
    case .here(let vault):
      let hidden = try services == nil ? vault.find(own).count : 0
      return try vault.export(to: target, services: services, with: credentials, label: label) - hidden
    }
  }

  borrowing func add(
    _ items: [ImportedItem], duplicates: DuplicatePolicy, keeping: Int, isTrial: Bool, progress: (Int) -> Void
  ) throws(StoreError) -> ImportReport {
    switch self {
    case .byAgent(let agent): try agent.add(items, duplicates: duplicates, keeping: keeping, isTrial: isTrial, progress: progress)
    case .here(let vault): try vault.add(items, duplicates: duplicates, keeping: keeping, isTrial: isTrial, progress: progress)
    }
  }

  borrowing func holds(_ name: ItemName) throws(StoreError) -> Bool {
    switch self {
    case .byAgent(let agent): try !agent.ask(Calls.item, name).isEmpty
    case .here(let vault): try vault.item(name) != nil
    }
  }

  /// Whether so many items can be added at once. The agent's memory and time are for others too.
  borrowing func takes(_ items: [ImportedItem]) -> Bool {
    switch self {
    case .byAgent: AgentClient.takes(items)
    case .here: true
    }
  }
}
