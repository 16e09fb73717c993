internal import CofferValues

// As in another file of a program: the name is private there, and the compiler sees no second one.
extension PersistentStorage {
  fileprivate var hidden: KeyValueContainer<Int> { makeContainer() }
}

enum OtherFile {
  static func hidden(of storage: PersistentStorage) -> KeyValueContainer<Int> { storage.hidden }
}
