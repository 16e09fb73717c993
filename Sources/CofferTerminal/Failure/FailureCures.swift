internal import CofferPlatform

extension StoreError {
  package var commandCure: String { remedy?.commands ?? cure }

  var inCommandWords: StoreError {
    StoreError(
      kind, what, key: key, place: place, cure: commandCure, underlying: (underlying as? StoreError)?.inCommandWords ?? underlying
    )
  }
}

extension StoreError.Remedy {
  /// The step in this program's commands, flags and variables. Without `default`: the compiler demands words for a new
  /// remedy.
  package var commands: String {
    switch self {
    case .makeVault: "coffer init creates one; or give the path of another"
    case .returnVault: "put it back, or restore a backup with coffer restore FILE; coffer init creates another vault"
    case .acceptReplaced: "put the right vault back; if this one is right, accept it with coffer vault pin accept"
    case .acceptOlder:
      "an older copy was put back: find the newer file; if the old one is right, accept it with coffer vault pin accept"
    case .acceptFork:
      "two copies were changed separately: find the other one; if this one is right, accept it with coffer vault pin accept"
    case .acceptMoved: "use the vault itself, at its own place; if it was moved here, accept it with coffer vault pin accept"
    case .acceptAtPath: "check that the right vault is there, then accept it with coffer vault pin accept"
    case .acceptUnpinned: "check that the vault is the newest one, then accept it with coffer vault pin accept"
    case .expectVault: "ask a member of the vault for an invitation: coffer vault join PLACE INVITATION"
    case .acceptInvited: "ask a member of the vault for an invitation: coffer vault pin accept --invitation INVITATION"
    case .copyItems: "copy the items to a new vault with coffer export, or restore a backup"
    case .leaveVault: "copy the items to a new vault with coffer export, and remove this one"
    case .giveBackup: "make a backup of that vault with coffer backup, and give that"
    case .giveBackupSecret:
      "give it with --passphrase-file or a similar option; the vault's current secret can come from COFFER_PASSPHRASE_FILE, "
        + "COFFER_KEY_FILE or the terminal"
    case .replaceVault: "restore to another path, or use --replace, which keeps the old one beside it"
    case .acceptOlderKey:
      "use a backup made after the key change, or also give the current vault's secret; to go back on purpose, --older-key"
    case .acceptOlderCopy: "use a copy made since; if you know this one, --older-key"
    case .rebuild: "restore a backup; without one, coffer vault repair --rebuild keeps the records that open"
    case .askRecipient: "ask for it again; coffer vault identity FILE prints it"
    case .makeMirror: "coffer vault mirror FILE --vault URL creates it again, once the server can be reached"
    case .remakeMirror: "find out who put it there; then move it away and run coffer vault mirror FILE --vault URL"
    case .openMirror: "--vault mirror:FILE, which reads it"
    case .leaveMirror: "use the vault's own place, once the server can be reached"
    case .readMirror:
      "check that it can be reached, then try again; --vault mirror:FILE reads the copy that coffer vault mirror FILE made"
    case .acceptRemote:
      "find out who put older files there; if it was on purpose, coffer vault sync REMOTE --accept. Nothing was changed"
    case .chooseKey:
      "a removed member may have made one of them: find out whose it is; coffer vault sync REMOTE --take-key MARK goes on "
        + "with the right one. Nothing was changed"
    case .leaveWithholding: "the same command with --no-agent, and a secret of the vault"
    case .startAgent: "coffer unlock starts one; or unlock the vault in this process"
    case .unlockAgent: "coffer unlock, then try again"
    case .relockAgent: "coffer lock, then unlock the vault that you expect"
    case .restartAgent: "coffer agent stop, then coffer unlock"
    case .replaceAgent: "coffer agent stop, then coffer unlock; or --no-agent"
    case .endAgent: "coffer status --agent shows it, coffer agent stop stops it"
    case .askAgent: "coffer status --agent"
    case .leaveAgentOut: "--no-agent, or another COFFER_HOME"
    case .distrustAgent: "find out who put it there; --no-agent does without it"
    case .oneVersion: "use one version of coffer for both"
    }
  }
}
