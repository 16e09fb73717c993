public import CofferStorage
internal import CofferVaultFormat
public import FoundationEssentials

/// An item from another vault or program, for an import.
public struct ImportedItem: Sendable {
  /// Service and account.
  public let name: ItemName
  /// The value and its metadata.
  public let form: SecretForm
  /// When it was first stored and last written; nil for now.
  public let created: Date?, modified: Date?
  /// Whether it is a previous version of the item of this name that follows in the import.
  package private(set) var isPrevious = false
  /// How many previous versions a new item keeps; nil for as many as others of the import.
  package private(set) var history: Int?

  /// An item to import.
  public init(name: ItemName, form: SecretForm, created: Date? = nil, modified: Date? = nil) {
    self.name = name
    self.form = form
    self.created = created
    self.modified = modified
  }

  package init(
    name: ItemName, form: SecretForm, created: Date?, modified: Date?, isPrevious: Bool, history: Int? = nil
  ) {
    self.init(name: name, form: form, created: created, modified: modified)
    (self.isPrevious, self.history) = (isPrevious, history)
  }
}

/// The treatment of an imported item whose name is taken.
public enum DuplicatePolicy: Sendable, CaseIterable {
  /// Imports nothing: ``/CofferPlatform/StoreError/Kind/alreadyExists``.
  case refuse
  /// Replaces the current item, unless it has the same content.
  case replace
  /// Keeps the current item.
  case keep
  /// Replaces the current item if the imported one was written later and differs. One without a date counts as older.
  case newer
  /// As ``replace``; removes the fields of a replaced item that are not imported. One that keeps previous versions can be
  /// restored.
  case replaceWithFields
}

/// The effects of an import, made or planned.
public struct ImportReport: Sendable, Equatable {
  /// The new, the replaced and the unchanged names, in the order of the import.
  public package(set) var added: [ItemName] = [], replaced: [ItemName] = [], kept: [ItemName] = []

  package init() {}
}
