/// The tables of plain values on a server, in the schema that a place names.
///
/// A domain has a row of its own, which orders its writers, and a row for each of its last commits, by which one is found that
/// nobody answered. What its names and values are, anybody who reads the database sees.
enum PlainSchema {
  static let names = ["plain", "plain_commit", "plain_domain"]

  /// Commits that are remembered of a domain, at most: those of some seconds, in which a client finds a server again.
  static let mostCommits: Int64 = 1024

  /// The tables, as ``PostgresSchema/question`` answers it.
  static let text =
    "plain.domain:text! plain.name:text! plain.form:bytea! plain.version:bigint! "
    + "plain_commit.domain:text! plain_commit.version:bigint! plain_commit.id:bytea! "
    + "plain_domain.domain:text! plain_domain.version:bigint! plain_domain.weight:bigint! plain_domain.names:bigint!"

  /// What makes the tables. Names are told apart by their bytes, whatever order the database has for text. The index is for those
  /// who ask what has changed, who are more than those who change it.
  static func statements(_ schema: String, makesSchema: Bool) -> [String] {
    (makesSchema ? ["CREATE SCHEMA \(schema)"] : []) + [
      """
      CREATE TABLE \(schema).plain (domain text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, form bytea NOT NULL,
        version bigint NOT NULL, PRIMARY KEY (domain, name))
      """,
      "CREATE INDEX plain_version ON \(schema).plain (domain, version)",
      """
      CREATE TABLE \(schema).plain_commit (domain text COLLATE "C" NOT NULL, version bigint NOT NULL, id bytea NOT NULL,
        PRIMARY KEY (domain, version))
      """,
      """
      CREATE TABLE \(schema).plain_domain (domain text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, weight bigint NOT NULL,
        names bigint NOT NULL)
      """,
    ]
  }
}

/// One domain of plain values on a server.
struct PlainTable: Sendable {
  let schema: String
  let domain: String
  /// The place, for messages.
  let place: String

  /// Where commits are told of. No schema has a longer name than leaves room for it.
  var channel: String { "\(schema)_plain" }
}
