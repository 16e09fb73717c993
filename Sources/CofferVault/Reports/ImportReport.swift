public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials

/// An item on its way from one vault, or another program, to a vault.
public struct ImportedItem: Sendable {
  /// Service and account.
  public let name: ItemName
  /// The value and its description.
  public let form: SecretForm
  /// When it was first stored and last written; nil for now.
  public let created: Date?, modified: Date?

  /// An item to import.
  public init(name: ItemName, form: SecretForm, created: Date? = nil, modified: Date? = nil) {
    self.name = name
    self.form = form
    self.created = created
    self.modified = modified
  }
}

/// What becomes of an imported item whose name is taken.
public enum DuplicatePolicy: Sendable, CaseIterable {
  /// Nothing is imported at all: ``/CofferPlatform/StoreError/Kind/alreadyExists``.
  case refuse
  /// The imported item takes its place.
  case replace
  /// The current item stays.
  case keep
}

/// The effects of an import, made or planned.
public struct ImportReport: Sendable, Equatable {
  /// Names that were new, were replaced, or stayed as they were; in the order of the import.
  public package(set) var added: [ItemName] = [], replaced: [ItemName] = [], kept: [ItemName] = []

  package init() {}
}
