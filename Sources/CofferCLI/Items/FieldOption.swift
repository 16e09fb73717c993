internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// `--field` of commands about an item, or one of its fields.
struct FieldOption: ParsableArguments {
  @Option(help: ArgumentHelp("This secret field of the item, instead of its value.", valueName: "name")) var field: String?

  func name(in name: ItemName) throws -> ItemName { try field.map { try name.field(named: FieldName.secret($0)) } ?? name }
}
