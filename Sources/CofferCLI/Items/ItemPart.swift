internal import ArgumentParser
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// A part of an item beside its value, by name: the first that exists of a described field, a secret field and an attribute.
enum ItemPart {
  case text(String)
  case secret(SecretForm)

  init(_ name: String, of item: VaultItem, in items: VaultItems) throws {
    guard let part = try ItemPart(ifAny: name, of: item, in: items) else { throw StoreError.noField(name, of: item.name) }
    self = part
  }

  init?(ifAny name: String, of item: VaultItem, in items: VaultItems) throws {
    let isDescribed = FieldName.described.contains(name)
    if let said = ItemJSON(item).description.first(where: { $0.0 == name })?.1, !said.isEmpty {
      self = .text(said)
    } else if !isDescribed, let secret = try Self.secret(FieldName.secret(name), of: item, in: items) {
      self = .secret(secret)
    } else if let attribute = item.metadata.attributes[name], !attribute.isEmpty {
      self = .text(attribute)
    } else {
      return nil
    }
  }

  private static func secret(_ name: String, of item: VaultItem, in items: VaultItems) throws -> SecretForm? {
    let field: ItemName
    // An invalid name is no field.
    do throws(StoreError) { field = try item.name.field(named: name) } catch { return nil }
    return try items.get(field)
  }
}

enum FieldName {
  /// The described fields of every item. A field with such a name would be hidden.
  static let described = ["service", "account", "label", "type", "created", "modified", "expires", "revision", "bytes"]

  /// The prefix for secret fields alone, such as another program's field called `label`.
  private static let mark: Character = "#"

  static func secret(_ name: String) -> String { name.first == mark ? String(name.dropFirst()) : name }

  static func check(_ name: String?) throws(Failure) {
    guard let name else { return }
    guard !described.contains(name), name.first != mark else {
      throw .usage(
        "'\(Printable.line(name))' is not a valid field name: --field \(Printable.line(name)) means something else",
        try: "another name")
    }
  }
}

/// `--field` of commands about an item, or one of its fields.
struct FieldOption: ParsableArguments {
  @Option(help: ArgumentHelp("This secret field of the item, instead of its value.", valueName: "name")) var field: String?

  func name(in name: ItemName) throws -> ItemName { try field.map { try name.field(named: FieldName.secret($0)) } ?? name }

  func item(in item: VaultItem, _ items: VaultItems) throws -> VaultItem {
    guard let field else { return item }
    guard let found = try items.item(name(in: item.name)) else { throw StoreError.noField(field, of: item.name) }
    return found
  }
}

extension VaultItems {
  /// Refuses an item with fields and an empty value, such as an imported identity: nobody wants its empty value.
  func checkHasValue(_ item: VaultItem) throws {
    guard item.valueBytes == 0, case let fields = try fields(of: item.name), let first = fields.first?.name else { return }
    let isCode = first.field == OneTimeURI.field
    let names = fields.map(\.name.field).joined(separator: ", ")
    throw StoreError(
      .notFound, "the item has no value, but \(fields.count == 1 ? "the field" : "the fields") \(names)",
      key: item.name.description, cure: isCode ? CommandText.item("otp", item.name) : CommandText.item("get", first))
  }
}

extension StoreError {
  static func noField(_ field: String, of name: ItemName) -> StoreError {
    StoreError(
      .notFound, "the item has no field of that name", key: field,
      cure: "\(CommandText.item("show", name.item)) lists its fields")
  }
}
