internal import CofferPlatform
internal import CofferVault

extension FrameWriter {
  mutating func put(_ query: ItemQuery) throws(StoreError) {
    try put(query.service)
    try put(query.otherThan)
    try put(texts: query.texts)
    try put(UInt32(clamping: query.attributes.count))
    for attribute in query.attributes {
      try put(attribute.name)
      try put(attribute.value)
    }
    try put(texts: query.attributeNames)
    try put(query.besides != nil)
    if let mark = query.besides {
      try put(mark.name)
      try put(mark.value)
    }
    try put(query.ofFields)
    try put(query.isUse)
  }

  private mutating func put(texts: [String]) throws(StoreError) {
    try put(UInt32(clamping: texts.count))
    for text in texts { try put(text) }
  }
}

extension FrameReader {
  mutating func query() throws(StoreError) -> ItemQuery {
    var query = ItemQuery(service: try optionalText())
    query.otherThan = try optionalText()
    query.texts = try texts()
    for _ in 0..<(try countOfNames(ofAtLeast: 8)) { query.attributes.append(ItemQuery.Attribute(try text(), try text())) }
    query.attributeNames = try texts()
    if try flag() { query.besides = ItemQuery.Mark(try text(), try optionalText()) }
    query.ofFields = try flag()
    query.isUse = try flag()
    return query
  }
}
