"""What is watched and how: scrape targets, alert rules, dashboards and the values of the monitoring chart; pure."""
