import type { CatalogEntry } from '#base/catalog/entry.ts'

/** What the gateway answers to agents and SSH clients, and commands to them. */
export const agentSessionErrors = {
  ssh_no_update: {
    number: 1121,
    status: 400,
    text: 'This session is an SSH client, which cannot update itself.',
  },
  ssh_no_restart: {
    number: 1122,
    status: 400,
    text: 'This session is an SSH client, which cannot restart itself.',
  },
  restart_unsupported: { number: 804, status: 400, text: 'The agent does not support restart: {reason}.' },
  stop_unsupported: { number: 805, status: 400, text: 'The agent does not support stop: {reason}.' },
  update_unsupported: { number: 806, status: 400, text: 'The agent does not support update: {reason}.' },
  stop_failed: { number: 807, status: 400, text: 'The agent did not stop: {reason}.' },
  restart_failed: { number: 808, status: 400, text: 'The agent did not restart: {reason}.' },
  update_failed: { number: 809, status: 400, text: 'The agent did not update: {reason}.' },
  command_unanswered: {
    number: 810,
    status: 502,
    text: 'The agent did not respond; it may still have executed the command.',
  },
  agent_token_missing: {
    number: 4018,
    status: 401,
    text: 'The agent sent no authtoken. Set that of an agent credential, such as with ADIT_AUTHTOKEN; the gateway has one in the file authtoken of its data folder.',
  },
  agent_token_malformed: {
    number: 105,
    status: 401,
    text: 'The authtoken "{shown}" is malformed. Copy it again; "adit config add-authtoken" stores it.',
  },
  agent_token_unknown: {
    number: 107,
    status: 401,
    text: 'The authtoken is unknown: it was mistyped, or its credential was deleted.',
  },
  agent_owner_inactive: {
    number: 90250,
    status: 403,
    text: 'The owner of this credential is not active, so no agent may use it. An admin can set "active" of the user to true.',
  },
  agent_address_refused: {
    number: 90050,
    status: 403,
    text: 'Agents may not connect from {ip}: an IP restriction of type "agent" forbids it. Allow this address in an IP policy of that restriction.',
  },
  agent_sessions_full: {
    number: 108,
    status: 403,
    text: 'The gateway accepts at most {limit} agent sessions.',
  },
  agent_not_signed_in: { number: 90051, status: 401, text: 'The agent must sign in first.' },
  address_taken: {
    number: 334,
    status: 400,
    text: 'The endpoint {url} is already online{where}. Stop that one, choose another name, or enable pooling on both.',
  },
  address_of_edge: {
    number: 90052,
    status: 400,
    text: 'The address {url} is served by an edge. Choose another one, remove it from the edge, or serve the edge with "adit tunnel --label".',
  },
  acl_refused: {
    number: 90053,
    status: 403,
    text: 'The credential may not bind {address}: its ACL allows only {allowed}.',
  },
  name_not_reserved: {
    number: 90054,
    status: 400,
    text: 'The name {name} is neither under {domain} nor reserved. Reserve it first: adit api reserved-domains create --domain {name}',
  },
  bind_name: { number: 90055, status: 400, text: '"{name}" cannot be the name of an endpoint: {reason}.' },
  bind_port: { number: 90056, status: 400, text: 'Port {port} cannot be used: {reason}.' },
  bind_protocol: {
    number: 90057,
    status: 400,
    text: '"{proto}" is not an endpoint protocol: use http, https, tcp or tls.',
  },
  bind_option: { number: 90058, status: 400, text: 'The option {option} cannot be used: {reason}.' },
  bind_labels: {
    number: 90059,
    status: 400,
    text: 'A labelled tunnel needs at least one label of the form name=value.',
  },
  address_of_other: {
    number: 90260,
    status: 403,
    text: 'The address {address} belongs to another user, who has it or a parent domain online or reserved. Choose another one, or ask that user to share it.',
  },
  name_held_back: {
    number: 90262,
    status: 403,
    text: 'The name {name} is restricted, because programs contact it automatically or people take it for a part of the server. Choose another one, or ask an admin to reserve it.',
  },
  usage_limit: {
    number: 90263,
    status: 403,
    text: '{who} may have at most {limit} {what} at once. Close some of them, or ask the operator to raise {setting}.',
  },
  port_share: {
    number: 90264,
    status: 403,
    text: 'A user may have at most {limit} TCP ports at once, half of the assignable ones. Close some of them, or ask the operator to widen ADIT_TCP_PORTS.',
  },
  pool_options: {
    number: 90261,
    status: 400,
    text: 'The endpoints of the pool at {url} have other options than this one. Open it with the same options, or stop the others first.',
  },
  bind_limit: { number: 90060, status: 400, text: 'A session may have at most {limit} tunnels.' },
  ports_exhausted: { number: 90061, status: 503, text: 'No free TCP port between {first} and {last}.' },
  listener_off: {
    number: 90062,
    status: 400,
    text: 'The gateway does not serve {scheme}: that listener is off.',
  },
  ssh_command: {
    number: 90070,
    status: 400,
    text: 'The command after the host name is invalid: {reason}. Run ssh without -R to see the supported commands.',
  },
  ssh_certificate_forwarding: {
    number: 90071,
    status: 403,
    text: 'Your certificate does not allow tunnels: it needs the extension permit-port-forwarding.',
  },
  ssh_forward_taken: {
    number: 90072,
    status: 400,
    text: 'This connection already forwards {bind}. Use another port or name for each -R.',
  },
  ssh_forward_limit: {
    number: 90073,
    status: 400,
    text: 'One ssh connection opens at most {limit} tunnels.',
  },
  ssh_bind_address: {
    number: 90074,
    status: 400,
    text: 'The bind address of -R is too long or has invalid characters.',
  },
} as const satisfies Record<string, CatalogEntry>
