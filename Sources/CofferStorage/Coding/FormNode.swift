internal import CofferPlatform

/// A value during encoding. A class, because `Codable` fills containers after they were placed.
final class FormNode {
  private enum Shape { case untouched, null, single(PlainForm), keyed, unkeyed, contradictory }
  private enum Part { case form(PlainForm), node(FormNode) }

  let place: CodingPlace
  private var shape = Shape.untouched
  private var members: [String: Part] = [:]
  private var elements: [Part] = []

  init(at place: CodingPlace) { self.place = place }

  var count: Int { elements.count }

  func becomeKeyed() {
    switch shape {
    case .untouched: shape = .keyed
    case .keyed: break
    case .null, .single, .unkeyed, .contradictory: shape = .contradictory
    }
  }

  func becomeUnkeyed() {
    switch shape {
    case .untouched: shape = .unkeyed
    case .unkeyed: break
    case .null, .single, .keyed, .contradictory: shape = .contradictory
    }
  }

  /// Nil means nothing.
  func become(_ form: PlainForm?) {
    guard case .untouched = shape else {
      shape = .contradictory
      return
    }
    shape = form.map(Shape.single) ?? .null
  }

  func set(_ form: PlainForm?, for name: String) { members[name] = form.map(Part.form) }
  func append(_ form: PlainForm) { elements.append(.form(form)) }

  /// The same one at each request, as in other encoders, so that its content stays.
  func container(_ key: any CodingKey) -> FormNode {
    switch members[key.stringValue] {
    case .node(let node): return node
    case .form(let form):
      let node = member(key)
      node.become(form)
      return node
    case nil: return member(key)
    }
  }

  /// Replaces any member with the same name.
  func member(_ key: any CodingKey) -> FormNode {
    let node = FormNode(at: .member(key, of: place))
    members[key.stringValue] = .node(node)
    return node
  }

  func element() -> FormNode {
    let node = FormNode(at: .element(count, of: place))
    elements.append(.node(node))
    return node
  }

  /// Nil when the value encoded itself as nil. A value that encoded nothing is an empty dictionary.
  func form(level: Int) throws(StoreError) -> PlainForm? {
    try FormEncoder.check(level)
    switch shape {
    case .untouched: return .dictionary([:])
    case .null: return nil
    case .single(let form): return form
    case .keyed: return .dictionary(try dictionary(level))
    case .unkeyed: return .array(try array(level))
    case .contradictory:
      throw FormEncoder.failure("encodes two values in one place", place, "let encode(to:) ask for one container only")
    }
  }

  private func dictionary(_ level: Int) throws(StoreError) -> [String: PlainForm] {
    var forms: [String: PlainForm] = [:]
    forms.reserveCapacity(members.count)
    for (name, part) in members {
      switch part {
      case .form(let form): forms[name] = form
      case .node(let node): forms[name] = try node.form(level: level + 1)
      }
    }
    return forms
  }

  private func array(_ level: Int) throws(StoreError) -> [PlainForm] {
    var forms: [PlainForm] = []
    forms.reserveCapacity(elements.count)
    for part in elements {
      switch part {
      case .form(let form): forms.append(form)
      case .node(let node):
        guard let form = try node.form(level: level + 1) else { throw FormEncoder.nothing(at: node.place) }
        forms.append(form)
      }
    }
    return forms
  }
}
