/// The sources of a key's value, returned by ``LayeredStore/explain(_:)``.
public struct Explanation: Sendable, Equatable {
  /// A place that values come from, strongest first.
  public enum Layer: Sendable, Equatable {
    /// `-key value` on the command line.
    case argument
    /// An environment variable.
    case environment
    /// The domain that the store writes to.
    case domain
    /// An added suite.
    case suite
    /// Registered by this instance.
    case registered
  }

  /// A value of one layer.
  public struct Source: Sendable, Equatable {
    /// The layer.
    public let layer: Layer
    /// The property list's path, the variable's name, or a word for the layer.
    public let place: String
    /// The value. Overrides are ``PlainForm/argument(_:)``: the reading key sets their type.
    public let form: PlainForm

    var isOverride: Bool { if case .argument = form { true } else { false } }

    /// The value of `layer` at `place`.
    public init(layer: Layer, place: String, form: PlainForm) {
      self.layer = layer
      self.place = place
      self.form = form
    }
  }

  /// The key.
  public let key: String
  /// All layers with a value, strongest first: a read gets the first one.
  public let sources: [Source]

  /// The values of `sources` for `key`, strongest first.
  public init(key: String, sources: [Source]) {
    self.key = key
    self.sources = sources
  }

  /// The source that a read gets; nil when no layer has a value.
  public var winner: Source? { sources.first }
  /// The layers hidden by the winner.
  public var hidden: ArraySlice<Source> { sources.dropFirst() }
}

extension Explanation: CustomStringConvertible {
  /// One line for each source: the layer, the kind of its value, and its place. Never the value. An override is text, whose
  /// kind is known only once a key reads it.
  public var description: String {
    guard !sources.isEmpty else { return "\(key): no value in any layer" }
    return sources.enumerated()
      .map { "\($0 == 0 ? key + ":" : "  over") \($1.layer) \($1.isOverride ? "text" : $1.form.kindName) (\($1.place))" }.joined(
        separator: "\n")
  }
}
