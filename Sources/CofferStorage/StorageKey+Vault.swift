internal import CofferPlatform
public import FoundationEssentials

extension StorageKey where R == Vault {
  /// A secret, handed out sealed. It has no default: a secret in source is not one.
  public init<Payload: Codable & Sendable>(
    _ name: String, secret type: Payload.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Sealed<Payload>? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in Sealed(form: form) },
      encode: { (value, traits) throws(StoreError) in
        guard let value else { return nil }
        return try SecretCoding.form(value.form, traits)
      })
    traits.isSecret = true
    traits.promotion = PromotedCoding.promotion(Payload.self)
  }

  /// A value that is kept in the vault and handed out as it is, a user id for example.
  public init<Wrapped: Codable & Sendable>(
    _ name: String, vaulted type: Wrapped.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Wrapped? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in try SecretCoding.decode(Wrapped.self, form) },
      encode: { (value, traits) throws(StoreError) in
        guard let value else { return nil }
        return try SecretCoding.form(SecretCoding.encode(value), traits)
      })
    traits.isSecret = true
    traits.promotion = PromotedCoding.promotion(Wrapped.self)
  }

  /// The same key, whose secret expires when `moment` says: from then on a read throws ``/CofferPlatform/StoreError/Kind/expired``.
  ///
  /// `moment` is asked when a value is set; nil means never.
  public func expires<Payload: Codable & Sendable>(
    _ moment: @escaping @Sendable (Payload) -> Date?
  ) -> Self where Value == Sealed<Payload>? {
    let encode = declaration.encode
    var key = StorageKey(
      name: name, site: site, absent: declaration.absent, decode: declaration.decode,
      encode: { (value, traits) throws(StoreError) in
        guard let value, var form = try encode(value, traits) else { return nil }
        form.metadata.expires = try moment(value.reveal())
        return form
      })
    key.traits = traits
    return key
  }
}
