/// The hosts and the database of a place.
///
/// Source: libpq, "Specifying Multiple Hosts": lists with commas; one port may serve all.
struct PlaceParameters {
  private let hosts: [String], addresses: [String], ports: [String]
  let database: String

  init(_ parameters: [String: String]) {
    func list(_ name: String) -> [String] {
      let text = parameters[name] ?? ""
      return text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    database = parameters["dbname"] ?? ""
  }

  private var count: Int { max(1, hosts.count, addresses.count) }

  private func port(_ place: Int) -> String { place < ports.count ? ports[place] : ports.count == 1 ? ports[0] : "" }

  /// The hosts' names, or else addresses, and ports; an empty name stands for libpq's own.
  var named: [(host: String, port: String)] {
    (0..<count).map { place in
      let names = hosts.isEmpty ? addresses : hosts
      return (place < names.count ? names[place] : "", port(place))
    }
  }

  /// For each of several hosts, the parameters that lead to it alone; empty for one host, and for mismatched lists, which
  /// libpq refuses.
  var alone: [[(String, String)]] {
    let matches = [hosts, addresses].allSatisfy { $0.isEmpty || $0.count == count } && [0, 1, count].contains(ports.count)
    guard count > 1, matches else { return [] }
    return (0..<count).map { place in
      [
        ("host", place < hosts.count ? hosts[place] : ""), ("hostaddr", place < addresses.count ? addresses[place] : ""),
        ("port", port(place)),
      ]
    }
  }
}
