import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Errors of the agent itself. */
export const agentErrors = {
  agent_server_address: {
    number: 90080,
    status: 400,
    text: '"{value}" is not the address of a gateway: write host:port, such as 127.0.0.1:4443.',
  },
  agent_file: { number: 90081, status: 400, text: 'The file {path} cannot be read: {reason}.' },
  agent_unreachable: {
    number: 90082,
    status: 502,
    text: 'The gateway {server} cannot be reached: {reason}.',
  },
  agent_untrusted: {
    number: 90083,
    status: 502,
    text: 'The certificate of {server} is not trusted: {reason}.',
  },
  agent_certificate_expired: {
    number: 90300,
    status: 502,
    text: 'The certificate of {server} expired on {end}. Renew it on the gateway, or correct the clock of this machine (now {now}).',
  },
  agent_certificate_early: {
    number: 90301,
    status: 502,
    text: 'The certificate of {server} is not valid before {start}. Correct the clock of this machine (now {now}).',
  },
  agent_certificate_name: {
    number: 90302,
    status: 502,
    text: 'The certificate of {server} is for {names}, not for {host}. Use one of these names with --server, or check where {host} points.',
  },
  agent_not_tls: {
    number: 90303,
    status: 502,
    text: '{server} does not use TLS: it is probably a plain HTTP port. Use the agent port of the gateway (agent_addr), by default 4443.',
  },
  agent_wrong_port: {
    number: 90304,
    status: 502,
    text: '{server} is an HTTPS port that rejects the agent protocol: of another web server, or of one in front of the gateway. Use the address set as agent_addr, by default port 4443.',
  },
  agent_proxy: { number: 90305, status: 502, text: 'The proxy {proxy} {reason}.' },
  agent_connection_lost: {
    number: 90084,
    status: 502,
    text: 'The connection to {server} was lost: {reason}.',
  },
  gateway_silent: {
    number: 90431,
    status: 503,
    text: 'No gateway process responds. They restart within seconds; see the server log if this stays.',
  },
  agent_closed: { number: 90085, status: 400, text: 'The agent was closed.' },
  agent_answer: {
    number: 90086,
    status: 502,
    text: 'The gateway {server} sent an invalid response: {reason}. Check that this is its agent port (agent_addr, by default 4443) and that no proxy in between changes the traffic.',
  },
  agent_target: {
    number: 90087,
    status: 400,
    text: '"{value}" is not an address to forward to: write a port from 1 to 65535, host:port, a URL without a path, unix:/path, or file:///folder.',
  },
  agent_endpoint: { number: 90088, status: 400, text: 'The endpoint cannot be opened: {reason}.' },
} as const satisfies Record<string, CatalogEntry>
