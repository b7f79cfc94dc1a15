// The rank that a reader picked in one chart, for those that show ranks.

const followers = [];

export const onPickedRank = (follow) => { followers.push(follow); };
// tab: which of what is known of the rank to open.
export const pickRank = (rank, tab) => { for (const follow of followers) follow(rank, tab); };
