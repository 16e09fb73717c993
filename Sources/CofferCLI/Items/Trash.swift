internal import Coffer
internal import CofferVault
internal import FoundationEssentials

enum Trash {
  /// The end of the time to restore `item`; nil if it is removed for good.
  static func end(_ item: VaultItem, _ context: Context) -> Date? {
    item.isOfLogin ? nil : Settings(context).keptUntil
  }
}
