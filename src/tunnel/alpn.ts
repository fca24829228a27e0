/** Offered by our own agent: both ends then know that windows may grow beyond what other agents bear. */
export const OWN_ALPN = 'adit-tunnel/1'
