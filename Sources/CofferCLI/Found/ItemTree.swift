internal import Coffer
internal import CofferVault

/// Items drawn as a tree: a service in a line, its accounts below it.
enum ItemTree {
  /// - Parameter items: in the order they shall have; a service stands where its first item does.
  static func text(_ items: [VaultItem]) -> String {
    var services: [String] = []
    var accounts: [[UInt8]: [VaultItem]] = [:]
    for item in items {
      let key = Array(item.name.service.utf8)
      if accounts[key] == nil { services.append(item.name.service) }
      accounts[key, default: []].append(item)
    }
    return services.flatMap { service in
      let found = accounts[Array(service.utf8)] ?? []
      // The item without an account is the service itself.
      let own = found.first { $0.name.account.isEmpty }
      let others = found.filter { !$0.name.account.isEmpty }
      return [line("", service, own?.metadata.label ?? "")]
        + others.enumerated().map { number, item in
          line(number == others.count - 1 ? "└── " : "├── ", item.name.account, item.metadata.label)
        }
    }.joined(separator: "\n")
  }

  private static func line(_ branch: String, _ name: String, _ label: String) -> String {
    branch + Printable.line(name) + (label.isEmpty ? "" : "  " + Printable.line(label))
  }
}
