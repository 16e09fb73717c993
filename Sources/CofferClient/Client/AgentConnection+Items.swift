// Items.
extension AgentConnection {
  /// The value of `item`; nil if it does not exist.
  ///
  /// - Throws: ``ClientError/Kind/expired`` for an expired item.
  public func value(of item: AgentItem) throws(ClientError) -> SecretBuffer? {
    try line.ask(.get) { (writer) throws(ClientError) in
      try writer.put(item)
    } answer: { (fields) throws(ClientError) in
      try fields.flag() ? fields.value() : nil
    }
  }

  /// Stores `value` and its description under `item`.
  ///
  /// - Parameters:
  ///   - value: at most 2 097 152 bytes.
  ///   - item: its name.
  ///   - label: a text for people.
  ///   - contentType: a media type; empty for plain bytes.
  ///   - attributes: names and values that describe it.
  ///   - expires: when the value expires, in seconds since 1970.
  ///   - replacing: whether it may replace an item of that name.
  /// - Throws: ``ClientError/Kind/alreadyExists``, ``ClientError/Kind/outcomeUnknown``.
  public func set(
    _ value: SecretBuffer, for item: AgentItem, label: String = "", contentType: String = "",
    attributes: [String: String] = [:], expires: Double? = nil, replacing: Bool = true
  ) throws(ClientError) {
    try line.ask(.apply, isWrite: true) { (writer) throws(ClientError) in
      try writer.put(1 as UInt32)
      try writer.put(1 as UInt8)
      try writer.put(item)
      try writer.put(replacing ? 0 : 1 as UInt8)
      try writer.put(label)
      try writer.put(contentType)
      try writer.put(expires != nil)
      if let expires { try writer.put(seconds: expires) }
      try writer.put(UInt32(clamping: attributes.count))
      for (name, text) in attributes.sorted(by: { $0.key < $1.key }) {
        try writer.put(name)
        try writer.put(text)
      }
      try writer.put(value)
      // The item keeps as many previous versions as before.
      try writer.put(false)
    } answer: { (fields) throws(ClientError) in
      fields.skipRest()
    }
  }

  /// Removes `item` permanently; false if there was none.
  @discardableResult
  public func delete(_ item: AgentItem) throws(ClientError) -> Bool {
    try line.ask(.delete, isWrite: true) { (writer) throws(ClientError) in
      try writer.put(item)
      try writer.put(0 as UInt8)
      try writer.put(false)
    } answer: { (fields) throws(ClientError) in
      try fields.flag()
    }
  }

  /// The services that begin with `prefix`, by name.
  public func services(prefix: String = "") throws(ClientError) -> [String] { try names(of: nil, prefix) }

  /// The items of `service`, by account.
  public func list(service: String) throws(ClientError) -> [AgentItem] {
    try names(of: service, "").map { AgentItem(service: service, account: $0) }
  }

  /// All items, by service and account. Asks once for each service.
  public func list() throws(ClientError) -> [AgentItem] {
    var items: [AgentItem] = []
    for service in try services() { items += try list(service: service) }
    return items
  }

  private func names(of service: String?, _ prefix: String) throws(ClientError) -> [String] {
    var names: [String] = []
    try line.askForPages(.names) { (writer) throws(ClientError) in
      try writer.put(optional: service)
      try writer.put(prefix)
    } element: { (fields) throws(ClientError) in
      names.append(try fields.text())
    }
    return names
  }

  /// The access token of a login at `host` by `coffer auth login`; nil without a login. The agent renews no tokens;
  /// `coffer auth token` does.
  ///
  /// - Throws: ``ClientError/Kind/expired`` once the token has expired.
  public func accessToken(host: String, account: String) throws(ClientError) -> SecretBuffer? {
    try value(of: AgentItem(service: host, account: account))
  }
}
