/// The tables of plain values in a place's schema.
///
/// A domain has a row that orders its writers, and a row for each of its last commits, by which a commit without an answer
/// is found. Every reader of the database sees its names and values.
enum PlainSchema {
  static let names = ["plain", "plain_commit", "plain_domain"]

  /// The most remembered commits of a domain: those of some seconds, in which a client finds a server again.
  static let mostCommits: Int64 = 1024

  /// The tables, as ``PostgresSchema/question`` describes them.
  static let text =
    "plain.domain:text! plain.name:text! plain.form:bytea! plain.version:bigint! "
    + "plain_commit.domain:text! plain_commit.version:bigint! plain_commit.id:bytea! "
    + "plain_domain.domain:text! plain_domain.version:bigint! plain_domain.weight:bigint! plain_domain.names:bigint!"

  /// Names are compared bytewise under every collation. The index serves readers of changes, who outnumber writers.
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

struct PlainTable: Sendable {
  let schema: String
  let domain: String
  /// The place, for messages.
  let place: String

  /// A schema's longest name leaves room for the suffix.
  var channel: String { "\(schema)_plain" }
}
