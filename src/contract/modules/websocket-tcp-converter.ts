import { module } from '#contract/kind.ts'

export const websocketTcpConverter = module({
  name: 'websocket_tcp_converter',
  doc: 'Turns WebSocket connections into plain TCP towards the backend.',
  fields: {},
})
