internal import CofferPlatform
internal import CofferVaultFormat
internal import FoundationEssentials

/// The questions about uses, and their answers. All end with the lock.
struct Approvals: Sendable {
  /// Unanswered ones. Each holds a few hundred bytes, and a person reads no more. As many answered ones wait for their askers.
  static let mostQuestions = 64
  static let questionTime = Duration.seconds(60)
  /// Approvals at a time: more would be a program's. The one that ends first makes room for a person's.
  static let mostApprovals = 256
  static let mostUses = 256
  static let jobTime = Duration.seconds(600)
  static let longestTime = Duration.seconds(12 * 3600)
  /// Open ones of a key and job: a program may use a key at several servers at a time.
  static let mostOfJob = 16
  /// Questions of a key and job without a yes, until both rest.
  static let mostUnanswered = 2
  static let rest = Duration.seconds(300)
  /// Keys and jobs that rest, and refusals without a row yet: a program can make up jobs.
  private static let mostResting = 1024

  /// A key with its rules: an approval under former rules does not count.
  struct Key: Sendable, Hashable {
    let publicHalf: [UInt8]
    /// Of its item; nil for a key of `ssh-add`'s.
    let revision: UInt64?

    init(_ held: HeldKey) { (publicHalf, revision) = (held.key, held.item?.revision) }
  }

  /// Uses that one approval covers. Names are compared by their bytes.
  struct Subject: Sendable, Equatable {
    let key: Key
    let purpose: String
    /// Of a login.
    let user: String?
    let hosts: [String]

    private var names: [[UInt8]?] { ([purpose, user] + hosts).map { $0.map { Array($0.utf8) } } }
    static func == (a: Subject, b: Subject) -> Bool { a.key == b.key && a.names == b.names }

    var way: String {
      (hosts.dropLast() + hosts.suffix(1).map { (user.map { "\($0.spelledOut())@" } ?? "") + $0 }).joined(separator: " > ")
    }
  }

  /// A use that may need an approval.
  struct Case: Sendable {
    let subject: Subject
    /// Of the data.
    let digest: Digest32
    let asker: ProcessFacts?
    let needsPassphrase: Bool
    /// That of its refusal, but for the reason.
    let row: UseRow

    fileprivate var asking: Asking { Asking(key: subject.key, job: asker?.job) }

    fileprivate func isSame(as other: Case) -> Bool {
      subject == other.subject && digest == other.digest && needsPassphrase == other.needsPassphrase
        && asker?.process == other.asker?.process && asker?.start == other.asker?.start
    }
  }

  /// Uses that a person approved.
  struct Approval: Sendable {
    let key: Key
    /// Nil for any.
    var subject: Subject?
    var job: ProcessFacts.Job?
    /// Whether the passphrase came with it.
    let isProven: Bool
    var ends = Duration.zero, uses = 0

    /// As the log of uses names it.
    var words: String { isProven ? Approvals.proven : job == nil ? "time" : "job" }

    func covers(_ use: Case) -> Bool {
      key == use.subject.key && subject.map { $0 == use.subject } ?? true && job.map { $0 == use.asker?.job } ?? true
        && (isProven || !use.needsPassphrase)
    }
  }

  private static let proven = "passphrase"
  private enum Answer { case yes(String), no }
  private struct Question {
    let use: Case
    let ends: Duration
    var answer: Answer?
    var isOpen: Bool { answer == nil }

    func shown(_ ticket: UInt64, _ now: Duration) -> KeyQuestion {
      KeyQuestion(
        ticket: ticket, key: use.row.name, purpose: use.subject.purpose, way: use.subject.way, program: use.asker?.program ?? "",
        process: UInt32(clamping: use.asker?.process ?? 0), needsPassphrase: use.needsPassphrase,
        left: UInt32(clamping: (ends - now).components.seconds))
    }
  }
  /// A key and a job whose questions get no yes.
  fileprivate struct Asking: Hashable {
    let key: Key, job: ProcessFacts.Job?
  }

  private var questions: [UInt64: Question] = [:]
  private var approvals: [Approval] = []
  private var unanswered: [Asking: (count: Int, until: Duration)] = [:]
  /// Rows of refusals that no asker has fetched, by their tickets.
  private var refused: [UInt64: UseRow] = [:]

  private static let vain = "nobody answered within \(questionTime.inWords), or the question was about another use"

  enum Verdict {
    /// - Parameter words: of the approval, for the log.
    case approved(String)
    case asks(KeyQuestion)
  }

  /// - Parameter ticket: that of an earlier question about the same use.
  /// - Throws: ``StoreError`` `.refused` for a denial, a question that is over or another's, and too many questions.
  mutating func verdict(on use: Case, ticket: UInt64?, now: Duration) throws(StoreError) -> Verdict {
    let asked = ticket.flatMap { questions[$0] }
    end(before: now)
    if let ticket {
      guard let asked, asked.use.isSame(as: use), questions[ticket] != nil else {
        // The error has a row of its own.
        if asked?.use.isSame(as: use) ?? false { refused[ticket] = nil }
        throw .useRefused(Self.vain)
      }
      if let answer = asked.answer {
        questions[ticket] = nil
        guard case .yes(let words) = answer else { throw .useRefused("a person denied it") }
        return .approved(words)
      }
    }
    if let index = approvals.firstIndex(where: { $0.covers(use) }) {
      approvals[index].uses += 1
      defer { if approvals[index].uses >= Self.mostUses { approvals.remove(at: index) } }
      if let ticket { questions[ticket] = nil }
      return .approved(approvals[index].words)
    }
    let ticket = if let ticket { ticket } else { try ask(use, now) }
    guard let question = questions[ticket] else { throw .useRefused("its question is over") }
    return .asks(question.shown(ticket, now))
  }

  private mutating func ask(_ use: Case, _ now: Duration) throws(StoreError) -> UInt64 {
    let asking = use.asking
    if !hasRoom(for: asking) { endDeserted(now) }
    guard unanswered[asking]?.count ?? 0 < Self.mostUnanswered, unanswered.count < Self.mostResting else {
      throw .useRefused("two questions got no yes: none is asked for \(Self.rest.inWords)")
    }
    guard hasRoom(for: asking) else {
      throw .useRefused("\(Self.mostOfJob) questions of a key and job are open, or \(Self.mostQuestions) of all")
    }
    let answered = questions.filter { !$0.value.isOpen }
    if answered.count >= Self.mostQuestions, let first = answered.values.map(\.ends).min() {
      end(now) { !$0.isOpen && $0.ends == first }
    }
    let ticket = UInt64.random(in: 1 ... .max)
    questions[ticket] = Question(use: use, ends: now + Self.questionTime)
    return ticket
  }

  private func hasRoom(for asking: Asking) -> Bool {
    let open = questions.values.filter(\.isOpen)
    return open.count < Self.mostQuestions && open.count { $0.use.asking == asking } < Self.mostOfJob
  }

  /// Answers a question; nil denies.
  ///
  /// - Throws: ``StoreError`` `.notFound` if it is over; `.refused` without a passphrase that it needs; `.unsupported` for a
  ///   scope that it cannot have.
  mutating func answer(_ ticket: UInt64, _ scope: KeyApproval.Scope?, isProven: Bool, now: Duration) throws(StoreError) {
    end(before: now)
    guard let use = questions[ticket]?.use, questions[ticket]?.answer == nil else {
      throw StoreError(.notFound, "the question is over", cure: "use the key again")
    }
    guard scope == nil || isProven || !use.needsPassphrase else { throw .passphraseNeeded(use.row.name) }
    // The asked use is one of it.
    var approval = Approval(key: use.subject.key, subject: use.subject, isProven: isProven, uses: 1)
    let answer: Answer
    switch scope {
    case nil: answer = .no
    case .once: answer = .yes(isProven ? Self.proven : "once")
    case .job:
      guard let job = use.asker?.job else {
        throw StoreError(.unsupported, "the asking job is unknown", cure: "approve once, or for a time")
      }
      approval.job = job
      answer = .yes(try approve(approval, for: Self.jobTime, now: now))
    case .time(let seconds): answer = .yes(try approve(approval, for: .seconds(Int64(seconds)), now: now))
    }
    questions[ticket]?.answer = answer
    // A program that leaves denies its question too.
    if scope == nil { count(use.asking, now) } else { unanswered[use.asking] = nil }
  }

  /// - Returns: the words for the log of uses.
  @discardableResult
  mutating func approve(_ approval: Approval, for time: Duration, now: Duration) throws(StoreError) -> String {
    end(before: now)
    guard time > .zero, time <= Self.longestTime else {
      throw StoreError(.unsupported, "an approval lasts 12 h at most", cure: "approve for less")
    }
    if approvals.count >= Self.mostApprovals, let first = approvals.indices.min(by: { approvals[$0].ends < approvals[$1].ends }) {
      approvals.remove(at: first)
    }
    var approval = approval
    approval.ends = now + time
    approvals.append(approval)
    return approval.words
  }

  /// Those that wait for a person, the oldest first.
  mutating func open(now: Duration) -> [KeyQuestion] {
    end(before: now)
    endDeserted(now)
    return questions.filter { $0.value.isOpen }.sorted { $0.value.ends < $1.value.ends }.map { $0.value.shown($0.key, now) }
  }

  mutating func end(before now: Duration) {
    approvals.removeAll { $0.ends <= now }
    unanswered = unanswered.filter { $0.value.until > now }
    end(now) { $0.ends <= now }
  }

  /// All questions, at the lock.
  mutating func endAll(now: Duration) { end(now, "the vault was locked") { _ in true } }

  /// Hands over each row of ``refused`` once `write` has taken it.
  mutating func takeRefused(_ write: (UseRow) throws(StoreError) -> Void) throws(StoreError) {
    for (ticket, row) in refused {
      try write(row)
      refused[ticket] = nil
    }
  }

  /// Ends the questions of processes that are gone. Reads a few small files of the kernel.
  private mutating func endDeserted(_ now: Duration) {
    end(now, "its program has gone") { question in
      question.isOpen && question.use.asker.map { ProcessFacts(of: $0.process)?.start != $0.start } ?? false
    }
  }

  private mutating func end(_ now: Duration, _ why: String = Self.vain, _ isOver: (Question) -> Bool) {
    for (ticket, question) in questions where isOver(question) {
      questions[ticket] = nil
      if case .yes? = question.answer { continue }
      if question.isOpen { count(question.use.asking, now) }
      guard refused.count < Self.mostResting else { continue }
      var row = question.use.row
      (row.time, row.detail) = (Date(), question.isOpen ? why : "it was denied, or its program left")
      refused[ticket] = row
    }
  }

  /// One more question without a yes.
  private mutating func count(_ asking: Asking, _ now: Duration) {
    unanswered[asking] = (count: (unanswered[asking]?.count ?? 0) + 1, until: now + Self.rest)
  }
}
