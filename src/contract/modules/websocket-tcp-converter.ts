import { module } from '#contract/kind.ts'

export const websocketTcpConverter = module({
  name: 'websocket_tcp_converter',
  doc: 'Converts WebSocket connections to plain TCP connections to the backend.',
  fields: {},
})
