/** The number in front of every stream. */
export const streamTypes = {
  auth: 0,
  bind: 1,
  unbind: 2,
  proxy: 3,
  restart: 4,
  stop: 5,
  update: 6,
  startTunnelWithLabel: 7,
  srvInfo: 8,
  stopTunnel: 9,
  patchTunnelState: 10,
  /** Between gateway processes. */
  peerCall: 1000,
  /** To Adit agents; earlier ones reset the stream. */
  connectAddresses: 1001,
  /** Between gateway processes: a proxied connection, which the other one confirms once it has reached the agent. */
  forward: 1002,
  heartbeat: 0xffff_ffff,
} as const
