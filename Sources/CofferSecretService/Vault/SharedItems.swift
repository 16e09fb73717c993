public import CofferAgent

/// Items of the vault that are shown to programs, though none of them stored it.
public enum SharedItems {
  /// Whether an item can be shared: those of collections are shown in any case, and what applications have by the portal is
  /// theirs alone.
  public static func canBeShared(_ item: VaultItem) -> Bool {
    let service = item.name.service
    return VaultNaming.collection(of: service) == nil && service != VaultNaming.collections && service != VaultNaming.portal
  }

  /// The metadata of an item once it is shared in the login collection, or no longer; nil if it is so already.
  public static func changed(_ metadata: ItemMetadata, isShared: Bool) -> ItemMetadata? {
    let mark = isShared ? CollectionState.login : nil
    guard metadata.attributes[VaultNaming.shared] != mark else { return nil }
    var changed = metadata
    changed.attributes[VaultNaming.shared] = mark
    return changed
  }
}
