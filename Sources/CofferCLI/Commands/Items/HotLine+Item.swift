extension HotLine {
  mutating func item() -> ItemArguments? {
    var item = ItemArguments()
    (item.name, item.account) = (word(), word())
    (item.service, item.exactAccount) = (value("--service"), value("--account"))
    // ArgumentParser explains a line that names nothing, or something twice.
    guard (item.name != nil) != (item.service != nil), item.account == nil || item.exactAccount == nil else { return nil }
    return item
  }

  mutating func store() -> StoreChoice {
    var store = StoreChoice()
    (store.domain, store.onlyItems) = (value("--domain"), flag("--items"))
    return store
  }
}
