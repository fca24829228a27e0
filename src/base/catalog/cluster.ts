import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Several processes and nodes. */
export const clusterErrors = {
  cluster_unavailable: {
    number: 90525,
    status: 503,
    text: 'The gateway cannot reach its database, so it assigns no new addresses. Existing ones work. Try again in a moment.',
  },
  first_process_unavailable: {
    number: 90529,
    status: 503,
    text: 'The process that assigns addresses and records sign-ins has ended and is being started again. Existing addresses work. Try again in a moment.',
  },
  tunnel_superseded: {
    number: 90527,
    status: 409,
    text: 'Another agent got {url} while the gateway of this one could not reach its database. Request another address, or stop the other agent.',
  },
  node_alone: {
    number: 90528,
    status: 409,
    text: 'This server is not in a cluster, so no other node could take over its agents. Stop it with SIGTERM.',
  },
  node_not_live: {
    number: 90526,
    status: 404,
    text: 'There is no live node {id}. List the nodes with adit cluster.',
  },
} as const satisfies Record<string, CatalogEntry>
