public import CofferAgent

/// Items shown to programs, none of which stored them.
public enum SharedItems {
  /// Whether an item can be shared: collections' items are shown anyway, and applications' portal secrets are private.
  public static func canBeShared(_ item: VaultItem) -> Bool {
    let service = item.name.service
    return VaultNaming.collection(of: service) == nil && service != VaultNaming.collections && service != VaultNaming.portal
  }

  /// The metadata after sharing an item in the login collection, or unsharing it; nil if nothing changes.
  public static func changed(_ metadata: ItemMetadata, isShared: Bool) -> ItemMetadata? {
    let mark = isShared ? CollectionState.login : nil
    guard metadata.attributes[VaultNaming.shared] != mark else { return nil }
    var changed = metadata
    changed.attributes[VaultNaming.shared] = mark
    return changed
  }
}
