-- On one node: whether the counter is smaller than one that we saw, `saw`, of a lock
-- that can have several holders. The server lost data then, and may have forgotten
-- some of them. For readers "?" is added, for that many ms. The caller starts the
-- counter again (`back` of move()): that is how waiters learn of a loss. (With
-- several nodes, the others still know the holders.)
local function is_behind(saw, several, at, ms)
	if ARG.alone ~= '1' or not several or not c or c >= saw then
		return false
	end
	if shared(v) then
		share(v, '?', at, ms)
	end
	return true
end
