"""Programs that run inside pods, mounted from ConfigMaps; each stands alone with what its image holds."""
