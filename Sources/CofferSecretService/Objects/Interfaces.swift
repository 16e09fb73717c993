/// The one table of an object's interface, for checks of calls and for introspection.
struct Interface: Sendable {
  struct Method: Sendable {
    let name: String
    let input: [(name: String, type: String)]
    let output: [(name: String, type: String)]

    var signature: String { input.map(\.type).joined() }
  }
  struct Property: Sendable {
    let name: String
    let type: String
    var isWritable = false
  }

  let name: String
  var methods: [Method] = []
  var properties: [Property] = []
  var signals: [(name: String, arguments: [(name: String, type: String)])] = []

  // Source: Secret Service API 0.2, "D-Bus API Reference".
  static let service = Interface(
    name: "org.freedesktop.Secret.Service",
    methods: [
      Method(name: "OpenSession", input: [("algorithm", "s"), ("input", "v")], output: [("output", "v"), ("result", "o")]),
      Method(
        name: "CreateCollection", input: [("properties", "a{sv}"), ("alias", "s")],
        output: [("collection", "o"), ("prompt", "o")]),
      Method(name: "SearchItems", input: [("attributes", "a{ss}")], output: [("unlocked", "ao"), ("locked", "ao")]),
      Method(name: "Unlock", input: [("objects", "ao")], output: [("unlocked", "ao"), ("prompt", "o")]),
      Method(name: "Lock", input: [("objects", "ao")], output: [("locked", "ao"), ("prompt", "o")]),
      Method(name: "LockService", input: [], output: []),
      Method(
        name: "GetSecrets", input: [("items", "ao"), ("session", "o")], output: [("secrets", "a{o" + Session.signature + "}")]),
      Method(name: "ReadAlias", input: [("name", "s")], output: [("collection", "o")]),
      Method(name: "SetAlias", input: [("name", "s"), ("collection", "o")], output: []),
    ],
    properties: [Property(name: "Collections", type: "ao")],
    signals: [
      ("CollectionCreated", [("collection", "o")]), ("CollectionDeleted", [("collection", "o")]),
      ("CollectionChanged", [("collection", "o")]),
    ])
  static let collection = Interface(
    name: "org.freedesktop.Secret.Collection",
    methods: [
      Method(name: "Delete", input: [], output: [("prompt", "o")]),
      Method(name: "SearchItems", input: [("attributes", "a{ss}")], output: [("results", "ao")]),
      Method(
        name: "CreateItem", input: [("properties", "a{sv}"), ("secret", Session.signature), ("replace", "b")],
        output: [("item", "o"), ("prompt", "o")]),
    ],
    properties: [
      Property(name: "Items", type: "ao"), Property(name: "Label", type: "s", isWritable: true),
      Property(name: "Locked", type: "b"),
      Property(name: "Created", type: "t"), Property(name: "Modified", type: "t"),
    ],
    signals: [("ItemCreated", [("item", "o")]), ("ItemDeleted", [("item", "o")]), ("ItemChanged", [("item", "o")])])
  static let item = Interface(
    name: "org.freedesktop.Secret.Item",
    methods: [
      Method(name: "Delete", input: [], output: [("prompt", "o")]),
      Method(name: "GetSecret", input: [("session", "o")], output: [("secret", Session.signature)]),
      Method(name: "SetSecret", input: [("secret", Session.signature)], output: []),
    ],
    properties: [
      Property(name: "Locked", type: "b"), Property(name: "Attributes", type: "a{ss}", isWritable: true),
      Property(name: "Label", type: "s", isWritable: true), Property(name: "Created", type: "t"),
      Property(name: "Modified", type: "t"),
    ])
  static let session = Interface(
    name: "org.freedesktop.Secret.Session", methods: [Method(name: "Close", input: [], output: [])])
  static let prompt = Interface(
    name: "org.freedesktop.Secret.Prompt",
    methods: [
      Method(name: "Prompt", input: [("window-id", "s")], output: []), Method(name: "Dismiss", input: [], output: []),
    ],
    signals: [("Completed", [("dismissed", "b"), ("result", "v")])])

  // Source: XDG Desktop Portal, "org.freedesktop.impl.portal.Secret".
  static let portal = Interface(
    name: "org.freedesktop.impl.portal.Secret",
    methods: [
      Method(
        name: "RetrieveSecret", input: [("handle", "o"), ("app_id", "s"), ("fd", "h"), ("options", "a{sv}")],
        output: [("response", "u"), ("results", "a{sv}")])
    ],
    properties: [Property(name: "version", type: "u")])

  // Source: D-Bus Specification, "Standard Interfaces". Peer is answered by sd-bus itself.
  static let propertiesOf = Interface(
    name: "org.freedesktop.DBus.Properties",
    methods: [
      Method(name: "Get", input: [("interface", "s"), ("property", "s")], output: [("value", "v")]),
      Method(name: "GetAll", input: [("interface", "s")], output: [("properties", "a{sv}")]),
      Method(name: "Set", input: [("interface", "s"), ("property", "s"), ("value", "v")], output: []),
    ],
    signals: [("PropertiesChanged", [("interface", "s"), ("changed", "a{sv}"), ("invalidated", "as")])])
  static let introspectable = Interface(
    name: "org.freedesktop.DBus.Introspectable", methods: [Method(name: "Introspect", input: [], output: [("xml", "s")])])
}

extension ObjectPath {
  /// The object's own interface.
  var interface: Interface? {
    switch self {
    case .service: .service
    case .collection, .alias: .collection
    case .item: .item
    case .session: .session
    case .prompt: .prompt
    case .portal: .portal
    case .folder: nil
    }
  }

  var interfaces: [Interface] {
    guard let interface else { return [.introspectable] }
    return [interface, .introspectable] + (interface.properties.isEmpty ? [] : [.propertiesOf])
  }
}

extension Interface {
  static func describe(_ interfaces: [Interface], children: [String]) -> String {
    var lines = [
      "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
      " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">", "<node>",
    ]
    for interface in interfaces {
      lines.append(" <interface name=\"\(interface.name)\">")
      for method in interface.methods {
        lines.append("  <method name=\"\(method.name)\">")
        lines += method.input.map { "   <arg name=\"\($0.name)\" type=\"\($0.type)\" direction=\"in\"/>" }
        lines += method.output.map { "   <arg name=\"\($0.name)\" type=\"\($0.type)\" direction=\"out\"/>" }
        lines.append("  </method>")
      }
      for property in interface.properties {
        let access = property.isWritable ? "readwrite" : "read"
        lines.append("  <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\"/>")
      }
      for signal in interface.signals {
        lines.append("  <signal name=\"\(signal.name)\">")
        lines += signal.arguments.map { "   <arg name=\"\($0.name)\" type=\"\($0.type)\"/>" }
        lines.append("  </signal>")
      }
      lines.append(" </interface>")
    }
    lines += children.map { " <node name=\"\($0)\"/>" } + ["</node>", ""]
    return lines.joined(separator: "\n")
  }
}
