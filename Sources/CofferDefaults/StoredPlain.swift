package import CofferPlatform
package import CofferStorage

/// The plain store's rules and journal encoding, for a plain store elsewhere.
package enum StoredPlain {
  package static var largestValue: Int { Budget.value }
  /// Both a name and the smallest value weigh something.
  package static var mostNames: Int { Budget.domain / (Budget.perElement + 1) }

  package static func checked(domain name: String) throws(StoreError) -> String { try DefaultsDomain.check(name) }

  package static func checked(_ name: String) throws(StoreError) -> String {
    try StorableForm.check(name: name)
    return name
  }

  /// `form` as it is stored: each number has one form.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unencodable`, `.tooLarge`.
  package static func settled(_ form: PlainForm, for name: String) throws(StoreError) -> PlainForm {
    try StorableForm.check(form, for: name)
    return StorableForm.settled(form, in: .binary)
  }

  package static func weight(of form: PlainForm?, under name: String) -> Int { Budget.weight(of: form, under: name) }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` when a change makes a domain too heavy, unless it weighed
  ///   that much before.
  package static func check(weight: Int, before: Int, changing name: String?, in place: String) throws(StoreError) {
    try Budget.check(weight: weight, before: before, changing: name, in: place)
  }

  package static func encoded(_ form: PlainForm) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: FormCodec.count(form)) { buffer, count in
      var writer = ByteWriter(UnsafeMutableRawBufferPointer(buffer), at: 0)
      FormCodec.put(form, &writer)
      count = buffer.count
    }
  }

  package static func decoded(_ bytes: UnsafeRawBufferPointer) -> PlainForm? {
    var reader = ByteReader(bytes)
    guard case .some(let form?) = FormCodec.take(&reader), reader.isAtEnd else { return nil }
    return form
  }
}
